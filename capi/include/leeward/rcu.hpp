/*
 * lee_rcu_hpp(3): RCU for C++, in the form of C++26.
 *
 *     struct config : leeward::rcu_obj_base<config> { int port; };
 *     std::atomic<config *> current;
 *
 *     // A reader.
 *     std::scoped_lock section(leeward::rcu_default_domain());
 *     int port = current.load(std::memory_order_acquire)->port;
 *
 *     // A writer.
 *     current.exchange(next)->retire();
 *
 * The header has the interface of the C++26 draft's <rcu> (P2545) in the namespace
 * `leeward`, for C++17 and later.
 *
 * `rcu_domain` is what readers lock: a `std::scoped_lock` opens a section, and closes
 * it at the end of its block. Sections nest, and rcu_domain::try_lock() always
 * succeeds. The default domain is lee_memb, whose sections are inlined;
 * `rcu_domain(name)` stands for any other domain of <leeward/rcu.h>, whose functions
 * in C may be used beside these.
 *
 * rcu_obj_base::retire() has `d(this)` called once, after a grace period, for an
 * object whose class is derived from `rcu_obj_base`. It allocates nothing, and cannot
 * fail. rcu_retire() does so with `d(p)` for an object of any type.
 *
 * rcu_synchronize() waits for a grace period, and rcu_barrier() until every deleter of
 * an object that was retired before has returned.
 *
 * Errors. rcu_retire() may throw `std::bad_alloc`, or what moving the deleter throws;
 * the object is the caller's then.
 *
 * What the standard leaves undefined is an end here: if rcu_synchronize() or
 * rcu_barrier() would wait for itself, or no heavy fence is possible, it writes a line
 * to standard error and calls std::terminate(), because to return would have memory
 * freed that a reader holds. Where that can happen, call lee_domain_synchronize() and
 * lee_domain_barrier(), which return the error.
 *
 * Deleters. They run on the domain's worker thread, in the order of retirement; what
 * is said of callbacks in lee_memb_defer(3) holds for them. A deleter must not throw.
 * An object must not be retired twice: the process ends with a line.
 *
 * Size. A class that derives from `rcu_obj_base` is 16 bytes larger, and by the size
 * of its deleter if that has a state.
 *
 * See also LEE_DOMAIN(3), lee_rcu(7).
 */
#ifndef LEEWARD_RCU_HPP
#define LEEWARD_RCU_HPP

#include <leeward/rcu.h>

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace leeward {

/* A domain: readers lock it, with std::scoped_lock for one. Sections nest. */
class rcu_domain {
public:
	constexpr explicit rcu_domain(lee_domain &domain) noexcept : domain_(&domain) {}
	rcu_domain(const rcu_domain &) = delete;
	rcu_domain &operator=(const rcu_domain &) = delete;

	inline void lock() noexcept;
	inline void unlock() noexcept;
	bool try_lock() noexcept { return lock(), true; }
	/* The domain of C. */
	lee_domain &native() const noexcept { return *domain_; }

private:
	lee_domain *domain_;
};

namespace lee_1 {

inline rcu_domain default_domain{lee_memb};

/* What a callback is queued by. A base, and the head its first member, so that either leads to the other. */
struct lee_1_node {
	lee_head lee_1_head = {};
};

/* Keeps a deleter; nothing, if any other of its type would do. */
template <class D, bool = std::is_empty_v<D> && std::is_trivially_default_constructible_v<D>> struct lee_1_deleter {
	D lee_1_kept;
	void lee_1_keep(D &&d) { lee_1_kept = std::move(d); }
	D lee_1_take() { return std::move(lee_1_kept); }
};
template <class D> struct lee_1_deleter<D, true> {
	void lee_1_keep(D &&) {}
	D lee_1_take() { return D(); }
};

/* An object that rcu_retire was given, and how it is deleted. */
template <class T, class D> struct retired : lee_1_node {
	retired(T *p, D &&d) : object(p), delete_it(std::move(d)) {}
	T *object;
	D delete_it;
};

inline void require(int error) noexcept { error == 0 ? void() : std::terminate(); }

} // namespace lee_1

inline rcu_domain &rcu_default_domain() noexcept { return lee_1::default_domain; }

/* The comparison is the compiler's where it sees which domain it is: the section is inlined then. */
inline void rcu_domain::lock() noexcept
{
	if (this == &lee_1::default_domain)
		lee_memb_read_lock();
	else
		lee_domain_read_lock(domain_);
}

inline void rcu_domain::unlock() noexcept
{
	if (this == &lee_1::default_domain)
		lee_memb_read_unlock();
	else
		lee_domain_read_unlock(domain_);
}

/* Waits until every section that was open when the call began has ended. */
inline void rcu_synchronize(rcu_domain &domain = rcu_default_domain()) noexcept
{
	lee_1::require(lee_domain_synchronize(&domain.native()));
}

/* Waits until every deleter of an object that was retired before the call has returned. */
inline void rcu_barrier(rcu_domain &domain = rcu_default_domain()) noexcept
{
	lee_1::require(lee_domain_barrier(&domain.native()));
}

/* The base of a class T whose objects retire themselves: without allocating, and without failing. */
template <class T, class D = std::default_delete<T>>
class rcu_obj_base : private lee_1::lee_1_node, private lee_1::lee_1_deleter<D> {
public:
	/* Has d(this) called once, after a grace period, by the domain's worker thread. */
	void retire(D d = D(), rcu_domain &domain = rcu_default_domain()) noexcept
	{
		static_assert(std::is_base_of_v<rcu_obj_base, T>, "T must be derived from rcu_obj_base<T, D>");
		this->lee_1_keep(std::move(d));
		lee_domain_defer(&domain.native(), &this->lee_1_head, [](lee_head *head) noexcept {
			auto *self = static_cast<rcu_obj_base *>(reinterpret_cast<lee_1::lee_1_node *>(head));
			/* Moved out first: the deleter ends the object that it was kept in. */
			D taken = self->lee_1_take();
			taken(static_cast<T *>(self));
		});
	}

protected:
	rcu_obj_base() = default;
	rcu_obj_base(const rcu_obj_base &) = default;
	rcu_obj_base(rcu_obj_base &&) = default;
	rcu_obj_base &operator=(const rcu_obj_base &) = default;
	rcu_obj_base &operator=(rcu_obj_base &&) = default;
	~rcu_obj_base() = default;
};

/* Does so with d(p), for an object of any type. Allocates: where that throws, the object is the caller's still. */
template <class T, class D = std::default_delete<T>>
void rcu_retire(T *p, D d = D(), rcu_domain &domain = rcu_default_domain())
{
	using record = lee_1::retired<T, D>;
	lee_domain_defer(&domain.native(), &(new record(p, std::move(d)))->lee_1_head, [](lee_head *head) noexcept {
		std::unique_ptr<record> self(static_cast<record *>(reinterpret_cast<lee_1::lee_1_node *>(head)));
		self->delete_it(self->object);
	});
}

} // namespace leeward

#endif
