#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    (scope_fuzz::target("linear_fit").read)(bytes);
});
