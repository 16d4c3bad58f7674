//! Any bytes, read as a document: no panic, useful faults, and rules that hold what rules must hold.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| punctual_fuzz::check_document(bytes));
