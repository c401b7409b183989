//! evmap: two maps, of which readers have one and the writer the other. Every write is published at
//! once, as the others' are.

use std::sync::{Mutex, PoisonError};

use evmap::{ReadHandle, ReadHandleFactory, WriteHandle};

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Writer = Mutex<WriteHandle<u64, u64, (), Hasher>>;
type Reader = ReadHandle<u64, u64, (), Hasher>;

pub struct Evmap {
    writer: Writer,
    readers: ReadHandleFactory<u64, u64, (), Hasher>,
}

impl Evmap {
    fn write(writer: &Writer, change: impl FnOnce(&mut WriteHandle<u64, u64, (), Hasher>)) {
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut writer);
        writer.refresh();
    }
}

impl Map for Evmap {
    type Thread<'m> = (&'m Writer, Reader);

    fn filled(size: usize) -> Evmap {
        let (reader, mut writer) = evmap::Options::default().with_hasher(Hasher::default()).construct();
        (0..size as u64).map(key).for_each(|key| {
            writer.update(key, key);
        });
        writer.refresh();
        Evmap { writer: Mutex::new(writer), readers: reader.factory() }
    }

    fn thread(&self) -> (&Writer, Reader) {
        (&self.writer, self.readers.handle())
    }

    #[inline(always)]
    fn get((_, reader): &(&Writer, Reader), key: u64) -> Option<u64> {
        reader.get_one(&key).map(|value| *value)
    }

    #[inline(always)]
    fn insert((writer, _): &mut (&Writer, Reader), key: u64, value: u64) {
        Evmap::write(writer, |writer| {
            writer.update(key, value);
        });
    }

    #[inline(always)]
    fn remove((writer, _): &mut (&Writer, Reader), key: u64) {
        Evmap::write(writer, |writer| {
            writer.empty(key);
        });
    }
}
