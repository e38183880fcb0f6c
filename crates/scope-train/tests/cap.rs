//! The cap as a property: whatever the gradients, the others together never outweigh the field's.

use std::sync::Arc;

use proptest::prelude::*;
use scope_engine::{Device, Gradients, Layout, Params};

/// Two encoder parameters and a decoder's.
fn params() -> Params {
    let mut layout = Layout::new();
    let mut root = layout.root();
    root.scope("encoder").weight("first", &[3, 5]);
    root.scope("encoder").weight("second", &[7]);
    root.scope("decoder").weight("weight", &[11]);
    Params::zeros(&Device::cpu(1), Arc::new(layout)).unwrap()
}

/// Random gradients over many orders of magnitude; some are zero, everywhere or on the encoder.
fn gradient() -> impl Strategy<Value = (Vec<f32>, i32, bool, bool)> {
    (prop::collection::vec(-1.0_f32..1.0, 33), -12..6_i32, any::<bool>(), prop::bool::weighted(0.1))
}

fn placed(params: &Params, (values, exponent, on_encoder, zero): &(Vec<f32>, i32, bool, bool)) -> Gradients {
    let mut flat = vec![0.0; params.layout().len()];
    let mut values = values.iter().map(|x| x * 10_f32.powi(*exponent));
    for param in params.layout().params() {
        for at in param.range.clone() {
            let value = values.next().unwrap();
            let skipped = *zero || (!on_encoder && param.name.starts_with("encoder"));
            flat[at] = if skipped { 0.0 } else { value };
        }
    }
    Gradients::from_flat(params, &flat).unwrap()
}

proptest! {
    #[test]
    fn the_cap_holds_on_all_parameters_and_on_the_encoder(
        field in gradient(),
        others in prop::collection::vec(gradient(), 1..4),
    ) {
        let params = params();
        let mut combined = placed(&params, &field);
        let field = placed(&params, &field);
        let others: Vec<Gradients> = others.iter().map(|other| placed(&params, other)).collect();
        let capped = combined.add_capped(&others.iter().collect::<Vec<_>>(), &["", "encoder"]).unwrap();
        let alpha = f64::from(capped.alpha.to_vec::<f32>().unwrap()[0]);
        prop_assert!((0.0..=1.0).contains(&alpha));
        let mut binding = false;
        for path in ["", "encoder"] {
            let f = field.norm(path).unwrap();
            let a: f64 = others.iter().map(|other| other.norm(path).unwrap()).sum();
            prop_assert!(alpha * a <= f * (1.0 + 1e-12), "{path}: {alpha} x {a} > {f}");
            binding |= a > 0.0 && alpha >= (1.0 - 3e-6) * f / a;
        }
        // As large as it may be: one of the sets binds, or nothing is held back.
        prop_assert!(alpha == 1.0 || binding);
        let flat = |gradients: &Gradients| gradients.flat().to_vec::<f32>().unwrap();
        for (k, combined) in flat(&combined).into_iter().enumerate() {
            let sum: f32 = others.iter().map(|other| flat(other)[k]).sum();
            let expected = f64::from(flat(&field)[k]) + alpha * f64::from(sum);
            let scale = f64::from(flat(&field)[k].abs()) + alpha * f64::from(sum.abs());
            prop_assert!((f64::from(combined) - expected).abs() <= 1e-6 * scale + 1e-30);
        }
    }
}
