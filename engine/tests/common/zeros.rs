//! The part of a host whose words all hold 0 and cannot be written: for tests of what a host does
//! besides.

/// Writes the methods of `leeward_engine::Host` that such a host need not think about; its `Task`
/// is `()`.
macro_rules! zeros {
    () => {
        fn in_range(&self, _: Address) -> bool {
            true
        }
        fn compare_exchange(&self, _: Address, _: u32, _: u32) -> Result<u32, Fault> {
            Err(Fault)
        }
        fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
            Err(Fault)
        }
        fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
            Err(Errno::EFAULT)
        }
        fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
            Ok(SharedKey::Anonymous)
        }
        fn task(&self, _: &Flag) {}
        fn unpark(&self, (): ()) {}
        fn now(&self, _: Clock) -> u64 {
            0
        }
    };
}
