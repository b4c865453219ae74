//! A cache with a limit.
#![allow(dead_code)]

use std::collections::HashMap;
use std::fmt::{self, Display};

pub mod policy;

/// How long an entry lives.
pub const DEFAULT_TTL: u64 = 60 * 60;
pub(crate) static HITS: AtomicUsize = AtomicUsize::new(0);
static mut LAST: Option<&'static str> = None;
const TEXT: &str = r#"fn fake() { struct Fake; }"#;
const LONG: [&str; 5] = ["the first entry", "the second entry", "the third entry", "the fourth", "the fifth"];
const _: () = assert!(DEFAULT_TTL > 0);

pub type Result<T, E = CacheError> = std::result::Result<T, E>;

/* A marker. */
pub struct Marker;
pub struct Key(pub String, #[allow(unused)] u32);
struct Bounded<T>(T)
where
    T: Ord;

/// An entry,
/// with its age.
#[derive(Debug, Clone)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub struct Entry<'a, K, V = String>
where
    K: Eq + 'a,
{
    #[serde(default)]
    pub key: K,
    pub(crate) value: Option<Box<dyn Fn(&'a V) -> bool + Send>>,
    r#type: u8,
}

#[derive(Debug)]
pub enum CacheError {
    /// Full.
    Full { limit: usize },
    Other(String),
}

#[repr(C)]
union Bits {
    int: u32,
    float: f32,
}

pub trait Store<K>: Send + Sync
where
    K: Eq,
{
    const LIMIT: usize = 10;
    type Value: Clone + 'static;
    type Iter<'a>: Iterator<Item = &'a Self::Value> where Self: 'a;

    fn get(&self, key: &K) -> Option<&Self::Value>;
    #[must_use]
    async fn load(&mut self, key: K) -> Result<(), CacheError>
    where
        Self: Sized;
    fn len(&self) -> usize {
        fn helper(n: usize) -> usize { n }
        let local = 1;
        const INNER: usize = 2;
        helper(local + INNER)
    }
}

impl<'a, K: Eq, V> Entry<'a, K, V> {
    pub const EMPTY: u8 = 0;

    /// A new one.
    pub const fn new(
        key: K, // the key
        /* the value */ value: Option<V>,
        #[cfg(test)] clock: Clock,
    ) -> Self {
        Self { key, value: None, r#type: 0 }
    }

    pub(super) unsafe extern "C" fn raw(self: &mut Self, _: *const u8) {}
    fn closures(&self) { let f = |x: i32| x + 1; struct Inside { a: u8 } impl Inside { fn deep(&self) {} } }
}

impl<K, V> fmt::Display for Entry<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{}", "fn fake2() {}") }
}
impl<'a, T: ?Sized> From<&'a T> for Box<Marker> where T: Display { fn from(_: &'a T) -> Self { todo!() } }
impl Store<u8> for &mut Key { type Value = u8; fn get(&self, _key: &u8) -> Option<&u8> { None } }
impl dyn Store<u8, Value = u8> { fn any(&self) {} }
impl policy::Lru { fn evict(&mut self) {} }
unsafe impl Send for Marker {}

macro_rules! cache {
    ($($k:expr => $v:expr),* $(,)?) => {{ fn fake3() {} }};
}

extern "C" {
    fn memcpy(dst: *mut u8, src: *const u8, n: usize) -> *mut u8;
    static ENVIRON: *const *const u8;
}

#[inline(always)]
#[cfg(any(unix, feature = "x"))]
pub async fn fetch<const N: usize, F, Fut>(keys: [&str; N], f: F) -> impl Iterator<Item = u8>
where
    F: FnOnce(&str) -> Fut,
    Fut: Future<Output = Vec<u8>>,
{
    keys.iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    mod nested {
        #[test]
        #[should_panic(expected = "full")]
        fn größe() {}
    }
}
