//! A future that holds a guard across an await does not move between threads.
use leeward::rcu;
fn spawn<F: Future<Output = ()> + Send>(_: F) {}
async fn elsewhere() {}
fn main() {
    spawn(async {
        drop(rcu::read());
        let guard = rcu::read(); //~ BREAKS future cannot be sent
        elsewhere().await;
        drop(guard); //~ BREAKS future cannot be sent
    });
}
