//! Cells that serde writes as the value that they hold.

use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::strategy::Strategy;
use crate::{ArcSwapAny, RefCnt};

impl<T: RefCnt + Serialize, S: Strategy<T>> Serialize for ArcSwapAny<T, S> {
    fn serialize<Ser: Serializer>(&self, serializer: Ser) -> Result<Ser::Ok, Ser::Error> {
        T::serialize(&self.load(), serializer)
    }
}

impl<'de, T: RefCnt + Deserialize<'de>, S: Strategy<T> + Default> Deserialize<'de> for ArcSwapAny<T, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}
