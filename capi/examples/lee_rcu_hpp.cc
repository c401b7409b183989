#include <leeward/rcu.hpp>
#include <atomic>
#include <mutex>

struct config : leeward::rcu_obj_base<config> {
	explicit config(int p) : port(p) {}
	int port;
};
static std::atomic<config *> current{new config(80)};

static int port()
{
	std::scoped_lock section(leeward::rcu_default_domain());
	return current.load(std::memory_order_acquire)->port;
}

int main()
{
	current.exchange(new config(81))->retire();
	int now = port();
	leeward::rcu_barrier();
	delete current.load();
	return now == 81 ? 0 : 1;
}
