/* <leeward/rcu.hpp>: retiring by a base and without one, deleters with and without state, domains, and C beside C++. */
#include <leeward/rcu.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
	((condition) ? void() : (std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), std::abort()))

LEE_DOMAIN(routes);
static leeward::rcu_domain routes_domain(routes);

/* Its members have the names that a careless base would take from it. */
struct node {
	int head, next, func, kept;
};
struct plain : leeward::rcu_obj_base<plain>, node {
	explicit plain(int v) : node(), value(v) {}
	~plain() { ended += value; }
	node *other = nullptr;
	int value;
	static inline std::atomic<int> ended{0};
};
static_assert(sizeof(leeward::rcu_obj_base<plain>) == sizeof(lee_head), "an empty deleter takes no room");

static void retires_by_its_base()
{
	for (int i = 1; i <= 100; i++) {
		auto *p = new plain(i);
		p->head = i;
		p->retire();
	}
	leeward::rcu_barrier();
	CHECK(plain::ended == 5050);
}

/* A deleter that can only be moved, and keeps state. */
struct counting {
	std::unique_ptr<int> by = std::make_unique<int>(0);
	template <class T> void operator()(T *p) const
	{
		total += *by;
		delete p;
	}
	static inline std::atomic<int> total{0};
};
struct second {
	virtual ~second() = default;
	long before = 7;
};
struct counted : second, leeward::rcu_obj_base<counted, counting> {
	long after = 9;
};

static void moves_its_deleter()
{
	auto *p = new counted;
	p->retire(counting{std::make_unique<int>(41)});
	leeward::rcu_retire(new int(3), counting{std::make_unique<int>(100)}, routes_domain);
	leeward::rcu_barrier();
	leeward::rcu_barrier(routes_domain);
	CHECK(counting::total == 141);
}

static std::atomic<int> called{0};
static void by_function(std::vector<int> *p)
{
	called += static_cast<int>(p->size());
	delete p;
}
struct pointed : leeward::rcu_obj_base<pointed, void (*)(pointed *)> {};

static void takes_functions_and_lambdas()
{
	leeward::rcu_retire(new std::vector<int>(5), by_function);
	int seen = 0;
	leeward::rcu_retire(&seen, [](int *p) { *p = 1; });
	(new pointed)->retire([](pointed *p) { called += 10; delete p; });
	leeward::rcu_barrier();
	CHECK(called == 15 && seen == 1);
}

struct flagged : leeward::rcu_obj_base<flagged> {
	explicit flagged(std::atomic<bool> &f) : flag(f) {}
	~flagged() { flag = true; }
	std::atomic<bool> &flag;
};

/* What is retired waits for sections of its own domain, in C++ and in C. */
static void waits_for_its_own_readers()
{
	std::atomic<int> step{0};
	std::atomic<bool> gone{false}, ended{false};
	std::thread reader([&] {
		std::unique_lock<leeward::rcu_domain> section(routes_domain);
		CHECK(routes_is_inside() && !lee_memb_is_inside());
		CHECK(routes_domain.try_lock());
		routes_domain.unlock();
		step = 1;
		while (step != 2)
			std::this_thread::yield();
		CHECK(!gone && !ended);
		section.unlock();
		CHECK(!routes_is_inside());
	});
	while (step != 1)
		std::this_thread::yield();
	leeward::rcu_retire(&gone, [](std::atomic<bool> *p) { *p = true; }, routes_domain);
	(new flagged(ended))->retire(std::default_delete<flagged>(), routes_domain);
	leeward::rcu_synchronize();
	leeward::rcu_retire(new int(1));
	leeward::rcu_barrier();
	CHECK(!gone && !ended);
	step = 2;
	leeward::rcu_barrier(routes_domain);
	CHECK(gone && ended);
	reader.join();
	CHECK(&leeward::rcu_default_domain().native() == &lee_memb);
	{
		std::scoped_lock section(leeward::rcu_default_domain());
		CHECK(lee_memb_is_inside());
	}
	CHECK(!lee_memb_is_inside());
}

/* A reader that follows the pointer beside a writer finds a whole object. */
struct pair : leeward::rcu_obj_base<pair> {
	explicit pair(int v) : one(v), two(-v) {}
	~pair() { one = two = 1; }
	int one, two;
};

static void readers_find_whole_objects()
{
	std::atomic<pair *> current{new pair(0)};
	std::atomic<bool> stop{false};
	std::vector<std::thread> readers;
	for (int i = 0; i < 2; i++)
		readers.emplace_back([&] {
			while (!stop) {
				std::scoped_lock section(leeward::rcu_default_domain());
				pair *now = current.load(std::memory_order_acquire);
				CHECK(now->one + now->two == 0);
			}
		});
	for (int i = 1; i < 2000; i++) {
		current.exchange(new pair(i))->retire();
		if (i % 200 == 0)
			leeward::rcu_synchronize();
	}
	stop = true;
	for (auto &reader : readers)
		reader.join();
	leeward::rcu_barrier();
	delete current.load();
}

/* Waiting for oneself ends the process, instead of returning before the grace period. */
static void waiting_for_oneself_ends_the_process()
{
	std::fflush(nullptr);
	pid_t child = fork();
	if (child == 0) {
		std::set_terminate([] { _exit(3); });
		std::scoped_lock section(leeward::rcu_default_domain());
		leeward::rcu_synchronize();
		_exit(0);
	}
	int status = 0;
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main()
{
	retires_by_its_base();
	moves_its_deleter();
	takes_functions_and_lambdas();
	waits_for_its_own_readers();
	readers_find_whole_objects();
	waiting_for_oneself_ends_the_process();
	std::puts("rcu_hpp: ok");
}
