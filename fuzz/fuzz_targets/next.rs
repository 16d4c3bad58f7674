//! Bytes as the choices that make a rule, mostly a valid one, and the instants it is asked about.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| punctual_fuzz::check_choices(bytes));
