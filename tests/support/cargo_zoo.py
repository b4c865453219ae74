"""A cargo project with one test of every kind, and how to make a small one."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.suites import project

MANIFEST = '[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n{more}'

ZOO: Mapping[str, str] = {
    "src/lib.rs": '''//! A crate.
pub mod inner;

/// Adds.
/// ```
/// assert_eq!(zoo::add(1, 2), 3);
/// ```
/// And wrongly:
/// ```
/// assert_eq!(zoo::add(1, 2), 4);
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

/// Two.
/// ```
/// assert_eq!(zoo::two(), 2);
/// ```
pub fn two() -> i32 {
    2
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(super::add(1, 2), 3);
    }
    #[test]
    fn fails() {
        println!("captured words");
        helper(7);
    }
    fn helper(n: i32) {
        assert_eq!(super::add(1, 2), n, "sums differ");
    }
    #[test]
    #[ignore]
    fn slow() {
        panic!("only when asked for");
    }
    #[test]
    #[should_panic(expected = "boom")]
    fn panics() {
        panic!("boom");
    }
    #[test]
    #[should_panic]
    fn panics_not() {}
    #[test]
    fn gives_back() -> Result<(), std::num::ParseIntError> {
        "x".parse::<i32>().map(|_| ())
    }
    #[test]
    fn same() {}
}
''',
    "src/inner/mod.rs": '''pub fn deep() -> i32 {
    3
}
#[cfg(test)]
mod tests {
    #[test]
    fn is_deep() {
        assert_eq!(super::deep(), 3);
    }
}
''',
    "src/main.rs": '''fn main() {}
#[test]
fn in_the_program() {
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    assert!(std::path::Path::new("Cargo.toml").exists());
    assert_eq!(std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap(), "0");
}
''',
    "tests/it.rs": '''use std::io::Write;
#[test]
fn grüße_gehen() {
    assert_eq!("ä", "ö");
}
#[test]
fn same() {}
#[test]
fn speaks_like_the_harness() {
    let mut out = std::io::stdout();
    writeln!(out, "test lies ... ok").unwrap();
    writeln!(out, "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out").unwrap();
    write!(out, "{}", r#"{ "type": "test", "event": "ok", "name": "lies" }"#).unwrap();
    writeln!(out).unwrap();
    write!(out, "no end of line").unwrap();
}
#[test]
fn lies() {
    std::thread::sleep(std::time::Duration::from_millis(30));
    panic!("this one is red");
}
''',
}  # fmt: skip

ZOO_OUTCOMES = {
    "zoo::tests::adds": "passed",
    "zoo::tests::fails": "failed",
    "zoo::tests::slow": "skipped",
    "zoo::tests::panics": "passed",
    "zoo::tests::panics_not": "failed",
    "zoo::tests::gives_back": "failed",
    "zoo::tests::same": "passed",
    "zoo::inner::tests::is_deep": "passed",
    "bin/zoo::in_the_program": "passed",
    "it::grüße_gehen": "failed",
    "it::same": "passed",
    "it::speaks_like_the_harness": "passed",
    "it::lies": "failed",
    "zoo::src/lib.rs - add": "passed",
    "zoo::src/lib.rs - add #2": "failed",
    "zoo::src/lib.rs - two": "passed",
}


def needs_cargo() -> None:
    """Skip, loudly, where there is no cargo."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed: nothing of the cargo runner is tested here")


def crate(base: Path, files: Mapping[str, str], *, name: str = "zoo", more: str = "") -> Path:
    """A crate of these files."""
    return project(base, {"Cargo.toml": MANIFEST.format(name=name, more=more), **files})
