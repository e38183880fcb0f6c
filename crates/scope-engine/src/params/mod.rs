//! Parameters and gradients: one flat buffer each, so that norms, clipping, the optimizer, an average of
//! weights and a checkpoint are each one pass over one array.

mod gradients;
mod layout;
mod reduction;

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

pub use gradients::Gradients;
pub(crate) use layout::HiddenMatrix;
pub use layout::{Layout, Param, ParamId, Scope};
pub(crate) use reduction::Pass;

use crate::{
    cpu::{Panels, WIDEST},
    cuda::muon::HiddenGroups,
    device::Device,
    dtype::{Dtype, Element},
    error::{EngineError, require_shape},
    quantised::QuantisedRows,
    tensor::Tensor,
};

/// How a weight is packed for products; one weight can be packed for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Packing {
    /// The right matrix of y = x W^T.
    Forward(Dtype),
    /// The right matrix of dx = dy W.
    Backward(Dtype),
    /// The right matrix of y = x W^T in integers.
    Integers,
}

/// The values of a model's parameters on one device.
pub struct Params {
    layout: Arc<Layout>,
    values: Tensor,
    /// On a GPU, the same numbers in bf16, for products.
    bf16_copy: Option<Tensor>,
    /// On a GPU, which blocks of numbers AdamW trains and which decay, for the paths of the latest step.
    marks: Mutex<Option<(Chosen, Tensor)>>,
    /// On a GPU, the hidden matrices of the latest step of Muon.
    groups: Mutex<Option<Grouped>>,
    /// Weights packed for products, made when first wanted and dropped when values change.
    packed: Mutex<HashMap<(ParamId, Packing), Arc<Panels>>>,
    /// Weights of linear layers as the integers that their values were made of, dropped when values change.
    integers: HashMap<ParamId, QuantisedRows>,
}

impl std::fmt::Debug for Params {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} parameters in {}", self.layout.count(""), self.values.dtype())
    }
}

impl Params {
    /// Parameters that are all zero, in f32.
    pub fn zeros(device: &Device, layout: Arc<Layout>) -> Result<Self, EngineError> {
        let length = layout.len();
        // Asked for first: a vector of zeros that memory has no room for ends the program.
        let wanted = length.saturating_mul(size_of::<f32>());
        let mut room = Vec::<f32>::new();
        room.try_reserve_exact(length).map_err(|_| EngineError::Memory { wanted })?;
        // Seen from outside, so that the compiler cannot leave it out.
        drop(std::hint::black_box(room));
        let values = Tensor::zeros(device, Dtype::F32, &[length])?;
        Self::of(layout, values)
    }

    /// Parameters from a flat buffer of f32, or of f64 for checking gradients.
    pub fn from_flat<T: Element>(
        device: &Device,
        layout: Arc<Layout>,
        values: &[T],
    ) -> Result<Self, EngineError> {
        if T::DTYPE == Dtype::Bf16 {
            return Err(EngineError::dtype("parameters", "the flat buffer", Dtype::F32, T::DTYPE));
        }
        if values.len() != layout.len() {
            return Err(EngineError::Layout { expected: layout.len(), got: values.len() });
        }
        let values = Tensor::from_slice(device, &[layout.len()], values)?;
        Self::of(layout, values)
    }

    fn of(layout: Arc<Layout>, values: Tensor) -> Result<Self, EngineError> {
        Ok(Self {
            layout,
            bf16_copy: rounded(&values)?,
            marks: Mutex::default(),
            groups: Mutex::default(),
            values,
            packed: Mutex::default(),
            integers: HashMap::new(),
        })
    }

    /// Names and places.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Where they live.
    pub fn device(&self) -> &Device {
        self.values.device()
    }

    /// What they are kept in.
    pub fn dtype(&self) -> Dtype {
        self.values.dtype()
    }

    /// What products are trained in: the parameters' own precision on the CPU, bf16 on a GPU.
    pub fn training_precision(&self) -> Dtype {
        match self.device() {
            Device::Cpu(_) => self.dtype(),
            Device::Cuda(_) => Dtype::Bf16,
        }
    }

    /// Whether there are gradients of products in a precision.
    pub(crate) fn can_train_in(&self, compute: Dtype) -> bool {
        match self.device() {
            Device::Cpu(_) => compute == self.dtype(),
            Device::Cuda(_) => compute != Dtype::F64,
        }
    }

    /// The flat buffer of all values, padding included.
    pub fn flat(&self) -> &Tensor {
        &self.values
    }

    /// Replaces all values.
    pub fn set_flat(&mut self, values: Tensor) -> Result<(), EngineError> {
        if values.len() != self.layout.len() {
            return Err(EngineError::Layout { expected: self.layout.len(), got: values.len() });
        }
        self.forget_packed();
        self.bf16_copy = rounded(&values)?;
        self.values = values;
        Ok(())
    }

    /// Writes values of f32 in place: `write` is given the flat buffer and puts every parameter where the layout says.
    /// What it leaves alone keeps its value on the CPU and is zero on a GPU; if it fails, the values are unusable.
    pub fn write_flat<E: From<EngineError>>(
        &mut self,
        write: impl FnOnce(&mut [f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Device::Cpu(_) = self.device() {
            return write(self.cpu_mut()?);
        }
        let mut flat = vec![0.0; self.layout.len()];
        write(&mut flat)?;
        let values = Tensor::from_slice(self.device(), &[flat.len()], &flat)?;
        Ok(self.set_flat(values)?)
    }

    /// Replaces the values of a range of the flat buffer in main memory.
    pub fn overwrite(&mut self, range: Range<usize>, values: &[f32]) -> Result<(), EngineError> {
        if range.len() != values.len() || range.end > self.layout.len() {
            return Err(EngineError::Layout { expected: range.len(), got: values.len() });
        }
        self.cpu_mut::<f32>()?[range].copy_from_slice(values);
        Ok(())
    }

    /// The same kind of parameters for the names under a path, such as those whose EMA is kept. The path must
    /// be the first of the layout.
    pub fn prefix(&self, path: &str) -> Result<Self, EngineError> {
        let layout = Arc::new(self.layout.prefix(path));
        let length = layout.len();
        match self.dtype() {
            Dtype::F64 => Self::from_flat(self.device(), layout, &self.values.to_vec::<f64>()?[..length]),
            _ => Self::from_flat(self.device(), layout, &self.values.to_vec::<f32>()?[..length]),
        }
    }

    /// One parameter's values, copied from wherever they are.
    pub fn values_of(&self, id: ParamId) -> Result<Vec<f64>, EngineError> {
        let wide = |values: &[f32]| values.iter().map(|x| f64::from(*x)).collect();
        match (self.device(), self.dtype()) {
            (Device::Cpu(_), Dtype::F64) => Ok(self.cpu(id).to_vec()),
            (Device::Cpu(_), _) => Ok(wide(self.cpu(id))),
            (Device::Cuda(cuda), _) => {
                Ok(wide(&self.values.read_on_cuda(cuda, self.layout.param(id).range.clone())?))
            }
        }
    }

    /// One parameter's values in main memory, for kernels.
    pub(crate) fn cpu<T: Element>(&self, id: ParamId) -> &[T] {
        &self.values.cpu()[self.layout.param(id).range.clone()]
    }

    /// All values in main memory, to be changed; what was packed is forgotten.
    pub(crate) fn cpu_mut<T: Element>(&mut self) -> Result<&mut [T], EngineError> {
        self.forget_packed();
        self.values.own_cpu_mut()
    }

    /// A weight packed for products.
    pub(crate) fn packed(&self, id: ParamId, packing: Packing, pack: impl FnOnce() -> Panels) -> Arc<Panels> {
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        packed.entry((id, packing)).or_insert_with(|| Arc::new(pack())).clone()
    }

    /// Has linear layers with this weight \[n, k\] multiply integers on a CPU, on tapes that do not record: those which
    /// its values, in f32, were made of. Layers too wide for it, or of odd width, go on multiplying numbers.
    pub fn keep_integers(&mut self, id: ParamId, rows: QuantisedRows) -> Result<(), EngineError> {
        let shape = &self.layout.param(id).shape;
        require_shape("integers of a weight", "its rows", shape, &[rows.scales.len(), rows.width()])?;
        if rows.width() <= WIDEST && rows.width().is_multiple_of(2) {
            self.integers.insert(id, rows);
        }
        Ok(())
    }

    /// Has all layers multiply numbers again.
    pub fn forget_integers(&mut self) {
        self.integers.clear();
    }

    /// The integers of a weight, if they are kept.
    pub(crate) fn integers(&self, id: ParamId) -> Option<&QuantisedRows> {
        self.integers.get(&id)
    }

    fn forget_packed(&mut self) {
        self.integers.clear();
        self.packed.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Params {
    /// Where one parameter begins on the GPU, in f32 or in the bf16 copy.
    pub(crate) fn address(&self, id: ParamId, dtype: Dtype) -> u64 {
        let flat = if dtype == Dtype::Bf16 { self.bf16_copy() } else { &self.values };
        flat.address() + (self.layout.param(id).range.start * flat.dtype().size()) as u64
    }

    /// The bf16 copy that a GPU has.
    pub(crate) fn bf16_copy(&self) -> &Tensor {
        self.bf16_copy.as_ref().unwrap_or(&self.values)
    }

    /// A byte for each block of numbers: left alone (0), trained (1), or trained with decay (2). Hidden matrices are
    /// left alone if another optimizer has them.
    pub(crate) fn marks(&self, paths: &[&str], without_hidden: bool) -> Result<Tensor, EngineError> {
        let mut kept = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, marks)) =
            kept.as_ref().filter(|((kept, without), _)| kept == paths && *without == without_hidden)
        {
            return Ok(marks.clone());
        }
        let mut marks = vec![0_u8; (self.layout.len() / layout::ALIGNMENT).next_multiple_of(4)];
        for range in paths.iter().map(|path| self.layout.range(path)) {
            let trained = |param: &&Param| {
                param.trained && range.contains(&param.range.start) && !(without_hidden && param.hidden > 0)
            };
            for param in self.layout.params().iter().filter(trained) {
                for numbers in param.moving() {
                    let blocks = numbers.start / layout::ALIGNMENT..numbers.end.div_ceil(layout::ALIGNMENT);
                    marks[blocks].fill(if param.decay { 2 } else { 1 });
                }
            }
        }
        let words: Vec<u32> = marks
            .chunks_exact(4)
            .map(|marks| u32::from_le_bytes(std::array::from_fn(|k| marks[k])))
            .collect();
        let marks = self.words(&words)?;
        *kept = Some(((owned(paths), without_hidden), marks.clone()));
        Ok(marks)
    }

    /// The hidden matrices under some paths as a GPU wants them, those of a share apart from others; made when first
    /// asked for.
    pub(crate) fn hidden_groups(
        &self,
        paths: &[&str],
        share: Option<&[Range<usize>]>,
    ) -> Result<Arc<HiddenGroups>, EngineError> {
        let mut kept = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(known, of, _): &&Grouped| known == paths && of.as_deref() == share;
        if let Some((.., groups)) = kept.as_ref().filter(same) {
            return Ok(groups.clone());
        }
        let is_own = |matrix: &HiddenMatrix| {
            let range = matrix.start..matrix.start + matrix.rows * matrix.columns;
            share.is_none_or(|share| share.contains(&range))
        };
        let (own, others): (Vec<_>, Vec<_>) =
            self.layout.hidden_matrices(paths).into_iter().partition(is_own);
        let table = |words: &[u32]| self.words(words);
        let groups = Arc::new(HiddenGroups::of(&own, &others, table)?);
        *kept = Some((owned(paths), share.map(<[_]>::to_vec), groups.clone()));
        Ok(groups)
    }

    /// Whole numbers on the GPU. A tensor holds floats, so each is the bits of one.
    fn words(&self, words: &[u32]) -> Result<Tensor, EngineError> {
        let floats: Vec<f32> = words.iter().map(|word| f32::from_bits(*word)).collect();
        Tensor::from_slice(self.device(), &[floats.len()], &floats)
    }
}

/// Paths, and whether hidden matrices are left out.
type Chosen = (Vec<String>, bool);

/// Paths, a share if there is one, and the hidden matrices of both.
type Grouped = (Vec<String>, Option<Vec<Range<usize>>>, Arc<HiddenGroups>);

fn owned(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// The bf16 copy of parameters on a GPU.
fn rounded(values: &Tensor) -> Result<Option<Tensor>, EngineError> {
    match values.device() {
        Device::Cpu(_) => Ok(None),
        Device::Cuda(cuda) => crate::cuda::elementwise::convert(cuda, values, Dtype::Bf16).map(Some),
    }
}
