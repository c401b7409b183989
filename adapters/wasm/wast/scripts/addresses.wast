;; Traps and bounds of memory.atomic.wait32, wait64 and notify, and memory.grow between them.

(module $Shared
  (memory 1 3 shared)
  (func (export "wait32") (param i32 i32 i64) (result i32)
    (memory.atomic.wait32 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "wait64") (param i32 i64 i64) (result i32)
    (memory.atomic.wait64 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "notify") (param i32 i32) (result i32)
    (memory.atomic.notify (local.get 0) (local.get 1)))
  (func (export "wait32+8") (param i32 i32 i64) (result i32)
    (memory.atomic.wait32 offset=8 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "wait64-far") (param i32 i64 i64) (result i32)
    (memory.atomic.wait64 offset=0xfffffff8 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "notify+2") (param i32 i32) (result i32)
    (memory.atomic.notify offset=2 (local.get 0) (local.get 1)))
  (func (export "store") (param i32 i64) (i64.store (local.get 0) (local.get 1)))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
)

;; Alignment, of the effective address.
(assert_trap (invoke "wait32" (i32.const 2) (i32.const 0) (i64.const 0)) "unaligned atomic")
(assert_trap (invoke "wait64" (i32.const 4) (i64.const 0) (i64.const 0)) "unaligned atomic")
(assert_trap (invoke "notify" (i32.const 1) (i32.const 0)) "unaligned atomic")
(assert_trap (invoke "notify+2" (i32.const 0) (i32.const 0)) "unaligned atomic")
(assert_return (invoke "notify+2" (i32.const 2) (i32.const 0)) (i32.const 0))

;; Bounds. The operand and the offset are added without wrapping around.
(assert_return (invoke "wait32" (i32.const 65532) (i32.const 0) (i64.const 0)) (i32.const 2))
(assert_return (invoke "wait32+8" (i32.const 65524) (i32.const 0) (i64.const 0)) (i32.const 2))
(assert_trap (invoke "wait32" (i32.const 65536) (i32.const 0) (i64.const 0)) "out of bounds memory access")
(assert_trap (invoke "wait32+8" (i32.const 65528) (i32.const 0) (i64.const 0)) "out of bounds memory access")
(assert_trap (invoke "wait32+8" (i32.const -8) (i32.const 0) (i64.const 0)) "out of bounds memory access")
(assert_trap (invoke "wait64-far" (i32.const 8) (i64.const 0) (i64.const 0)) "out of bounds memory access")
(assert_trap (invoke "notify" (i32.const 65536) (i32.const 0)) "out of bounds memory access")

;; The memory grows, and what was out of bounds is not.
(assert_return (invoke "grow" (i32.const 1)) (i32.const 1))
(assert_return (invoke "wait32" (i32.const 65536) (i32.const 0) (i64.const 0)) (i32.const 2))
(assert_return (invoke "wait64" (i32.const 131064) (i64.const 0) (i64.const 0)) (i32.const 2))
(assert_return (invoke "notify" (i32.const 131068) (i32.const -1)) (i32.const 0))
(assert_trap (invoke "wait64" (i32.const 131072) (i64.const 0) (i64.const 0)) "out of bounds memory access")
(assert_return (invoke "grow" (i32.const 2)) (i32.const -1))

;; All 64 bits are compared.
(invoke "store" (i32.const 8) (i64.const 0x100000002))
(assert_return (invoke "wait64" (i32.const 8) (i64.const 2) (i64.const -1)) (i32.const 1))
(assert_return (invoke "wait64" (i32.const 8) (i64.const 0x100000000) (i64.const -1)) (i32.const 1))
(assert_return (invoke "wait64" (i32.const 8) (i64.const 0x100000002) (i64.const 1000)) (i32.const 2))
(assert_return (invoke "wait32" (i32.const 8) (i32.const 2) (i64.const 0)) (i32.const 2))
(assert_return (invoke "wait32" (i32.const 12) (i32.const 2) (i64.const -1)) (i32.const 1))

;; A memory that is not shared: waits trap, notifies find no waiter, and both check the address.
(module $Own
  (memory 1 1)
  (func (export "wait32") (param i32 i32 i64) (result i32)
    (memory.atomic.wait32 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "wait64") (param i32 i64 i64) (result i32)
    (memory.atomic.wait64 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "notify") (param i32 i32) (result i32)
    (memory.atomic.notify (local.get 0) (local.get 1)))
)

(assert_trap (invoke "wait32" (i32.const 0) (i32.const 0) (i64.const 0)) "expected shared memory")
(assert_trap (invoke "wait32" (i32.const 0) (i32.const 1) (i64.const 0)) "expected shared memory")
(assert_trap (invoke "wait64" (i32.const 0) (i64.const 0) (i64.const -1)) "expected shared memory")
(assert_return (invoke "notify" (i32.const 0) (i32.const -1)) (i32.const 0))
(assert_trap (invoke "notify" (i32.const 2) (i32.const -1)) "unaligned atomic")
(assert_trap (invoke "notify" (i32.const 65536) (i32.const -1)) "out of bounds memory access")
(assert_trap (invoke "wait32" (i32.const 2) (i32.const 0) (i64.const 0)) "unaligned atomic")
