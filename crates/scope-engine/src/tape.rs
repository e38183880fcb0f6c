//! Recording operations, and walking back over them.

use std::cell::RefCell;

use crate::{
    cuda::Fusion,
    device::Device,
    dtype::Dtype,
    error::{EngineError, require_shape},
    group::DeviceGroup,
    ops::BatchStatistics,
    params::{Gradients, ParamId, Params, Pass},
    tensor::Tensor,
};

/// Whether there are gradients at all. In a browser fields are recovered and nothing is trained: half of a module would
/// be code that walks back.
const GRADIENTS: bool = cfg!(not(target_family = "wasm"));

/// A value on a tape: a tensor, and where it came from if gradients flow through it.
#[derive(Clone, Debug)]
pub struct Var {
    value: Tensor,
    node: Option<usize>,
}

impl Var {
    /// The value of the variable.
    pub fn value(&self) -> &Tensor {
        &self.value
    }

    /// The lengths of its axes.
    pub fn shape(&self) -> &[usize] {
        self.value.shape()
    }

    /// The same value under another shape. A reshape needs no record: gradients are reshaped on arrival.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, EngineError> {
        Ok(Self { value: self.value.reshape(shape)?, node: self.node })
    }

    /// The same value, cut off from where it came from: nothing flows back through it.
    pub fn detach(&self) -> Self {
        Self { value: self.value.clone(), node: None }
    }

    /// The same place on the tape with another value of its shape, for whoever needs the place only: the value that
    /// was there can go.
    pub(crate) fn holding(&self, value: Tensor) -> Self {
        Self { value, node: self.node }
    }

    pub(crate) fn node(&self) -> Option<usize> {
        self.node
    }
}

/// How an operation sends a gradient back.
pub(crate) trait Record {
    /// Turns the gradient of the output into gradients of inputs and parameters.
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError>;

    /// The slope of an activation that its gradient will be multiplied with first, if it is at hand: the kernel that
    /// computes that gradient may do it on the way.
    fn slope(&self) -> Option<&Tensor> {
        None
    }
}

/// An operation on a tape, with the shape that its output had: a gradient may arrive under another one.
struct Entry {
    record: Box<dyn Record>,
    shape: Vec<usize>,
}

/// A function that is called with every linear layer's weight and the rows it is multiplied with.
pub type ForwardHook<'p> = &'p dyn Fn(ParamId, &Tensor);

/// Runs operations on a set of parameters, and remembers them if it is to give gradients.
///
/// [`Tape::backward`] may be called several times, each time from another loss into another buffer: that is how
/// the components of an objective get separate gradients from one forward pass.
pub struct Tape<'p> {
    params: &'p Params,
    compute: Dtype,
    records: Option<RefCell<Vec<Entry>>>,
    statistics: RefCell<Vec<BatchStatistics>>,
    hook: Option<ForwardHook<'p>>,
    /// The devices that gradients are reduced over, if there are several.
    group: Option<&'p dyn DeviceGroup>,
}

impl<'p> Tape<'p> {
    /// A tape for gradients, in the precision its device trains in: the parameters' own on the CPU, bf16 on
    /// a GPU.
    pub fn recording(params: &'p Params) -> Result<Self, EngineError> {
        Self::recording_in(params, params.training_precision())
    }

    /// A tape for gradients whose products are computed in a precision.
    pub fn recording_in(params: &'p Params, compute: Dtype) -> Result<Self, EngineError> {
        if !GRADIENTS || !params.can_train_in(compute) {
            return Err(EngineError::NoGradients(compute));
        }
        let records = Some(RefCell::default());
        Ok(Self { params, compute, records, statistics: RefCell::default(), hook: None, group: None })
    }

    /// The same tape, whose backward passes leave the mean over several devices of the gradients, those of earlier
    /// tapes in the same buffer included. Buckets of them are reduced beside the pass as soon as they are final; who
    /// reads them must wait first ([`DeviceGroup::join`]).
    #[must_use]
    pub fn with_mean_over(self, group: &'p dyn DeviceGroup) -> Self {
        Self { group: Some(group), ..self }
    }

    /// A tape that only computes; tensors are given back as soon as nobody needs them.
    pub fn inference(params: &'p Params, compute: Dtype) -> Self {
        Self { params, compute, records: None, statistics: RefCell::default(), hook: None, group: None }
    }

    /// A tape that only computes, and shows what each linear layer is given: its weight, and rows \[..., k\].
    pub fn with_forward_hook(params: &'p Params, compute: Dtype, hook: ForwardHook<'p>) -> Self {
        Self { hook: Some(hook), ..Self::inference(params, compute) }
    }

    /// The parameters.
    pub fn params(&self) -> &'p Params {
        self.params
    }

    /// Where it computes.
    pub fn device(&self) -> &'p Device {
        self.params.device()
    }

    /// What products are computed in; sums and residual streams are wider.
    pub fn compute(&self) -> Dtype {
        self.compute
    }

    /// A value that nothing flows back to.
    pub fn input(&self, value: Tensor) -> Var {
        Var { value, node: None }
    }

    /// An input whose own gradient is wanted; [`Gradients::input`] has it after a backward pass.
    pub fn tracked(&self, value: Tensor) -> Var {
        let node = self.records.as_ref().map(|records| records.borrow().len());
        self.push(value, true, || Box::new(Leaf { node: node.unwrap_or(0) }))
    }

    /// The statistics of the batches that batch normalisations have had so far, for
    /// [`Params::update_running_statistics`].
    pub fn batch_statistics(&self) -> Vec<BatchStatistics> {
        self.statistics.borrow().clone()
    }

    /// Sends weights back from scalar losses, adding to the gradients.
    pub fn backward(&self, losses: &[(&Var, f64)], into: &mut Gradients) -> Result<(), EngineError> {
        let seed = |(loss, weight): &(&Var, f64)| {
            require_shape("backward", "a loss", loss.shape(), &[1])?;
            Tensor::full(self.device(), loss.value().dtype(), &[1], *weight)
        };
        let seeds: Vec<(&Var, Tensor)> =
            losses.iter().map(|pair| Ok((pair.0, seed(pair)?))).collect::<Result<_, EngineError>>()?;
        self.backward_from(&seeds, into)
    }

    /// Sends gradients back from any values, adding to the gradients.
    pub fn backward_from(&self, seeds: &[(&Var, Tensor)], into: &mut Gradients) -> Result<(), EngineError> {
        let records = self.records.as_ref().ok_or(EngineError::NotRecording)?.borrow();
        let expected = self.params.layout().len();
        let got = into.layout().len();
        if expected != got {
            return Err(EngineError::Layout { expected, got });
        }
        let mut flow = Flow {
            pending: vec![None; records.len()],
            params: self.params,
            into,
            records: &records,
            fusion: Fusion::default(),
        };
        for (var, seed) in seeds {
            flow.give(var, seed.clone())?;
        }
        let seeds = seeds.iter().filter_map(|(var, _)| var.node).collect();
        flow.into.begin_pass(Pass { nodes: records.len(), seeds }, self.group.is_some());
        for node in (0..records.len()).rev() {
            flow.into.enter(node);
            if let Some(gradient) = flow.pending[node].take() {
                let Entry { record, shape } = &records[node];
                record.backward(gradient.reshape(shape)?, &mut flow)?;
            }
            self.group.map_or(Ok(()), |group| flow.into.reduce_ready(group))?;
        }
        self.device().join()?;
        into.settle()?;
        self.group.map_or(Ok(()), |group| into.end_reduction(group))
    }

    /// Notes the statistics of a batch.
    pub(crate) fn note_statistics(&self, statistics: BatchStatistics) {
        self.statistics.borrow_mut().push(statistics);
    }

    /// Runs the forward hook, if there is one, with what a linear layer is given.
    pub(crate) fn run_forward_hook(&self, weight: ParamId, x: &Tensor) {
        if let Some(hook) = self.hook {
            hook(weight, x);
        }
    }

    /// Whether this tape remembers operations.
    pub(crate) fn is_recording(&self) -> bool {
        GRADIENTS && self.records.is_some()
    }

    /// Puts a value on the tape; `tracked` says whether gradients flow through it.
    pub(crate) fn push(&self, value: Tensor, tracked: bool, record: impl FnOnce() -> Box<dyn Record>) -> Var {
        let node = self.records.as_ref().filter(|_| GRADIENTS && tracked).map(|records| {
            let mut records = records.borrow_mut();
            records.push(Entry { record: record(), shape: value.shape().to_vec() });
            records.len() - 1
        });
        Var { value, node }
    }
}

/// A backward pass under way.
pub(crate) struct Flow<'a> {
    /// What has arrived at each node so far.
    pending: Vec<Option<Tensor>>,
    params: &'a Params,
    into: &'a mut Gradients,
    records: &'a [Entry],
    fusion: Fusion,
}

impl<'a> Flow<'a> {
    /// The parameters.
    pub(crate) fn params(&self) -> &'a Params {
        self.params
    }

    /// Where parameter gradients are added.
    pub(crate) fn into(&mut self) -> &mut Gradients {
        self.into
    }

    /// Whether a value wants a gradient at all.
    pub(crate) fn wants(&self, var: &Var) -> bool {
        var.node.is_some()
    }

    /// What the kernels of this pass have left for each other.
    pub(crate) fn fusion(&mut self) -> &mut Fusion {
        &mut self.fusion
    }

    /// The slope that a value's gradient will be multiplied with, unless a part of that gradient has arrived already.
    pub(crate) fn awaiting_slope(&self, var: &Var) -> Option<Tensor> {
        let node = var.node.filter(|node| self.pending[*node].is_none())?;
        // Under another shape, the columns that are summed on the way would be others.
        let same = |slope: &&Tensor| slope.shape().last() == var.shape().last();
        self.records[node].record.slope().filter(same).cloned()
    }

    /// Takes what has arrived at a value, so that a kernel can add to it on its way.
    pub(crate) fn take(&mut self, var: &Var) -> Option<Tensor> {
        self.pending[var.node?].take()
    }

    /// Adds a gradient to what has arrived at a value.
    pub(crate) fn give(&mut self, var: &Var, gradient: Tensor) -> Result<(), EngineError> {
        if let Some(node) = var.node {
            let sum = match self.pending[node].take() {
                Some(before) => self.fusion.add(before, &gradient, self.records[node].record.slope())?,
                None => gradient,
            };
            self.pending[node] = Some(sum);
        }
        Ok(())
    }
}

/// An input whose gradient is kept.
struct Leaf {
    node: usize,
}

impl Record for Leaf {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        flow.into().set_input(self.node, gradient);
        Ok(())
    }
}
