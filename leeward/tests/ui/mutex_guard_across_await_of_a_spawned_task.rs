//! A future that holds a lock across an await does not move between threads: the task would keep the
//! lock while others run on its thread.
use leeward::sync::Mutex;
static MUTEX: Mutex<u64> = Mutex::new(0);
fn spawn<F: Future<Output = ()> + Send>(_: F) {}
async fn elsewhere() {}
fn main() {
    spawn(async {
        *MUTEX.lock() += 1;
        elsewhere().await;
        let guard = MUTEX.lock(); //~ BREAKS future cannot be sent
        elsewhere().await;
        drop(guard); //~ BREAKS future cannot be sent
    });
}
