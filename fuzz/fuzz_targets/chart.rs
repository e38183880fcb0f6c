#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    (scope_fuzz::target("chart").read)(bytes);
});
