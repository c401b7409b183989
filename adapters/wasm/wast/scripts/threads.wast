;; Threads that wait in one shared memory, and are woken by others; the memory grows meanwhile.
;;
;;   0   a word that keeps its value: threads wait here until they are woken
;;   8   the number of threads that were woken
;;   16  a token that two threads pass

(module $Mem
  (memory (export "shared") 1 2 shared)
)

(thread $First (shared (module $Mem))
  (register "mem" $Mem)
  (module
    (memory (import "mem" "shared") 1 2 shared)
    (func (export "run") (result i32)
      (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1))
      (drop (i32.atomic.rmw.add (i32.const 8) (i32.const 1)))
    )
    (func (export "pass") (param $times i32)
      (loop $next
        ;; Until the token is 0.
        (block $have
          (loop $again
            (br_if $have (i32.eqz (i32.atomic.load (i32.const 16))))
            (drop (memory.atomic.wait32 (i32.const 16) (i32.const 1) (i64.const -1)))
            (br $again)))
        (i32.atomic.store (i32.const 16) (i32.const 1))
        (drop (memory.atomic.notify (i32.const 16) (i32.const 1)))
        (local.set $times (i32.sub (local.get $times) (i32.const 1)))
        (br_if $next (local.get $times)))
    )
  )
  (assert_return (invoke "run") (i32.const 0))
  (assert_return (invoke "pass" (i32.const 300)))
)

(thread $Second (shared (module $Mem))
  (register "mem" $Mem)
  (module
    (memory (import "mem" "shared") 1 2 shared)
    (func (export "run") (result i32)
      ;; At the same address as the first, by all 64 bits.
      (memory.atomic.wait64 (i32.const 0) (i64.const 0) (i64.const 9223372036854775807))
      (drop (i32.atomic.rmw.add (i32.const 8) (i32.const 1)))
    )
    (func (export "pass") (param $times i32)
      (loop $next
        (block $have
          (loop $again
            (br_if $have (i32.eq (i32.atomic.load (i32.const 16)) (i32.const 1)))
            (drop (memory.atomic.wait64 (i32.const 16) (i64.const 0) (i64.const -1)))
            (br $again)))
        (i32.atomic.store (i32.const 16) (i32.const 0))
        (drop (memory.atomic.notify (i32.const 16) (i32.const 1)))
        (local.set $times (i32.sub (local.get $times) (i32.const 1)))
        (br_if $next (local.get $times)))
    )
  )
  (assert_return (invoke "run") (i32.const 0))
  (assert_return (invoke "pass" (i32.const 300)))
)

(thread $Waker (shared (module $Mem))
  (register "mem" $Mem)
  (module
    (memory (import "mem" "shared") 1 2 shared)
    ;; Wakes until two were woken, with a count that is larger; returns how many that were.
    (func (export "wake-two") (result i32)
      (local $woken i32)
      (loop $again
        (local.set $woken
          (i32.add (local.get $woken) (memory.atomic.notify (i32.const 0) (i32.const -1))))
        (br_if $again (i32.lt_u (local.get $woken) (i32.const 2))))
      (local.get $woken)
    )
    (func (export "grow") (result i32) (memory.grow (i32.const 1)))
    (func (export "notify-none") (result i32) (memory.atomic.notify (i32.const 0) (i32.const 0)))
    (func (export "notify-new") (result i32) (memory.atomic.notify (i32.const 65536) (i32.const 1)))
  )
  (assert_trap (invoke "notify-new") "out of bounds memory access")
  (assert_return (invoke "notify-none") (i32.const 0))
  (assert_return (invoke "grow") (i32.const 1))
  (assert_return (invoke "notify-new") (i32.const 0))
  (assert_return (invoke "wake-two") (i32.const 2))
)

(wait $Waker)
(wait $First)
(wait $Second)

(register "mem" $Mem)
(module $Check
  (memory (import "mem" "shared") 1 2 shared)
  (func (export "woken") (result i32) (i32.load (i32.const 8)))
  (func (export "wait") (result i32) (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const 0)))
  (func (export "notify") (result i32) (memory.atomic.notify (i32.const 0) (i32.const -1)))
)
(assert_return (invoke $Check "woken") (i32.const 2))
(assert_return (invoke $Check "wait") (i32.const 2))
(assert_return (invoke $Check "notify") (i32.const 0))

(assert_unlinkable (module (memory (import "mem" "shared") 1 1 shared)) "incompatible import type")
(assert_unlinkable (module (memory (import "mem" "shared") 1 2)) "incompatible import type")
(assert_unlinkable (module (memory (import "mem" "other") 1 2 shared)) "unknown import")
