//! Every instruction set of this machine against plain double precision.

use crate::bfloat16::bf16;

use super::*;

struct Map<'a, F>(&'a [f32], F);

impl<F: MapLanes> Kernel<f32> for Map<'_, F> {
    type Output = Vec<f32>;
    #[inline(always)]
    fn run<V: Lanes<Real = f32>>(self) -> Vec<f32> {
        let mut out = vec![0.0; self.0.len()];
        for (from, to) in self.0.chunks(V::COUNT).zip(out.chunks_mut(V::COUNT)) {
            store_some(self.1.apply(load_some::<V>(from)), to);
        }
        out
    }
}

trait MapLanes {
    fn apply<V: Lanes<Real = f32>>(&self, x: V) -> V;
}

struct Exp;
impl MapLanes for Exp {
    fn apply<V: Lanes<Real = f32>>(&self, x: V) -> V {
        x.exp()
    }
}

struct Erf;
impl MapLanes for Erf {
    fn apply<V: Lanes<Real = f32>>(&self, x: V) -> V {
        x.erf()
    }
}

fn grid(from: f32, to: f32) -> Vec<f32> {
    let n = 100_003;
    (0..=n).map(|k| from + (to - from) * k as f32 / n as f32).collect()
}

#[test]
fn exponentials_keep_their_promise() {
    let x = grid(-87.0, 88.0);
    for isa in Isa::available() {
        for (x, y) in x.iter().zip(f32::dispatch(isa, Map(&x, Exp))) {
            let exact = libm::exp(f64::from(*x));
            assert!((f64::from(y) / exact - 1.0).abs() < 3e-7, "{isa:?}: exp({x}) = {y}");
        }
        let far = f32::dispatch(isa, Map(&[-1e30, f32::NEG_INFINITY], Exp));
        assert!(far.iter().all(|y| *y < 2e-38), "{isa:?}: {far:?}");
    }
}

#[test]
fn error_functions_keep_their_promise() {
    let x = grid(-6.0, 6.0);
    for isa in Isa::available() {
        for (x, y) in x.iter().zip(f32::dispatch(isa, Map(&x, Erf))) {
            assert!((f64::from(y) - libm::erf(f64::from(*x))).abs() < 4e-7, "{isa:?}: erf({x}) = {y}");
        }
    }
}

struct Halves<'a>(&'a [f32]);

impl Kernel<f32> for Halves<'_> {
    const HAS_BF16: bool = true;
    type Output = (Vec<bf16>, Vec<f32>);
    fn run<V: Lanes<Real = f32>>(self) -> Self::Output {
        let mut halves = vec![bf16::ZERO; self.0.len()];
        let mut back = vec![0.0; self.0.len()];
        for (i, from) in self.0.chunks(V::COUNT).enumerate() {
            let at = i * V::COUNT..i * V::COUNT + from.len();
            store_some_half(load_some::<V>(from), &mut halves[at.clone()]);
            store_some(load_some_half::<V>(&halves[at.clone()]), &mut back[at]);
        }
        (halves, back)
    }
}

#[test]
fn halves_round_to_nearest_even() {
    let x: Vec<f32> = (0..5_001).map(|k| (k as f32 - 2_500.0) * 1.000_7 * 2_f32.powi(k % 30 - 15)).collect();
    let expected: Vec<bf16> = x.iter().map(|x| bf16::from_f32(*x)).collect();
    for isa in Isa::available() {
        let (halves, back) = f32::dispatch(isa, Halves(&x));
        assert_eq!(halves, expected, "{isa:?}");
        assert!(back.iter().zip(&expected).all(|(back, half)| *back == half.to_f32()), "{isa:?}");
    }
}
