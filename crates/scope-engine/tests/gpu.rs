//! What happens on a machine with a GPU, and on one without.

use scope_engine::{Device, EngineError, selftest};

#[test]
fn a_gpu_agrees_with_the_cpu_or_what_is_missing_is_said() {
    match Device::cuda(0) {
        Ok(gpu) => {
            let checks = selftest::run(&gpu, "").unwrap();
            assert!(checks.len() > 100);
            let failed: Vec<_> = checks.into_iter().filter(|check| !check.passed()).collect();
            assert!(failed.is_empty(), "{failed:?}");
        }
        Err(error) => {
            assert!(matches!(error, EngineError::Unavailable { .. }), "{error}");
            let text = error.to_string();
            assert!(
                text.starts_with("CUDA cannot be used: ") && text.ends_with("or compute on the CPU"),
                "{text}"
            );
        }
    }
}
