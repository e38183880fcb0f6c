//! Running a product into fresh tensors.

use crate::bfloat16::bf16;

use super::{
    Cpu,
    gemm::{Finish, Out, Unit},
};
use crate::{ops::Epilogue, tape::Tape, tensor::Tensor};

/// The value of a product with its epilogue, in the precision that the epilogue wants, and the value before GELU
/// if the tape will need it. `finish` has its bias already, and `product` runs with what it is given.
pub(super) fn produce<U: Unit>(
    cpu: &Cpu,
    tape: &Tape<'_>,
    shape: &[usize],
    epilogue: Epilogue<'_>,
    mut finish: Finish<U::Real>,
    product: impl Fn(Finish<U::Real>),
) -> (Tensor, Option<Tensor>) {
    finish.gelu = matches!(epilogue, Epilogue::Gelu);
    if finish.gelu && tape.is_recording() {
        let mut after = None;
        let before = Tensor::compute::<U::Real>(cpu, shape, |before| {
            finish.before = before.as_mut_ptr();
            after = Some(wide::<U>(cpu, shape, finish, &product));
        });
        if let Some(after) = after {
            return (after, Some(before));
        }
    }
    let half = U::IS_HALF && matches!(epilogue, Epilogue::Plain | Epilogue::Gelu);
    if !half {
        return (wide::<U>(cpu, shape, finish, &product), None);
    }
    let value = Tensor::compute::<bf16>(cpu, shape, |out| {
        product(Finish { out: Out::Half(out.as_mut_ptr()), ..finish });
    });
    (value, None)
}

/// A result at full width.
fn wide<U: Unit>(
    cpu: &Cpu,
    shape: &[usize],
    finish: Finish<U::Real>,
    product: &impl Fn(Finish<U::Real>),
) -> Tensor {
    Tensor::compute::<U::Real>(cpu, shape, |out| {
        product(Finish { out: Out::Real(out.as_mut_ptr()), ..finish });
    })
}
