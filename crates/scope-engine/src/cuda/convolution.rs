//! 3x3 convolutions through cuDNN's backend interface: bf16, channels last, channels in multiples of eight.

use std::{
    collections::{HashMap, hash_map::Entry},
    ffi::c_void,
    sync::Mutex,
};

use cudarc::cudnn::{
    result as dnn,
    sys::{
        self, cudnnBackendAttributeName_t as Name, cudnnBackendAttributeType_t as Type,
        cudnnBackendDescriptor_t, cudnnBackendDescriptorType_t as Kind, cudnnDataType_t as Data,
    },
};

use super::{Cuda, failed, libraries, locked};
use crate::error::EngineError;

/// Plans of the library's list that are timed.
const SUGGESTIONS: usize = 8;
/// Runs timed for each.
const RUNS: usize = 4;
/// Plans that want more scratch than this are passed over.
const WORKSPACE: usize = 1 << 30;

/// Which of a layer's three convolutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pass {
    /// y from x and w.
    Forward,
    /// dx from dy and w.
    Input,
    /// dw from x and dy.
    Weight,
}

/// Everything a plan is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) pass: Pass,
    pub(super) batch: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    /// Channels in, a multiple of eight.
    pub(super) c: usize,
    /// Channels out, a multiple of eight.
    pub(super) o: usize,
}

/// The library, and the plans made so far.
#[derive(Default)]
pub(super) struct Convolutions(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    handle: Option<Handle>,
    plans: HashMap<Shape, Plan>,
}

/// The open library.
struct Handle(sys::cudnnHandle_t);

// SAFETY: used behind a lock.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made in `handle`, not used again.
        let _ = unsafe { dnn::destroy_handle(self.0) };
    }
}

/// A plan with the descriptors it refers to, which are dropped after it.
struct Plan {
    plan: Descriptor,
    workspace: usize,
    _parts: Vec<Descriptor>,
}

/// One of the library's descriptors.
struct Descriptor(cudnnBackendDescriptor_t);

// SAFETY: used behind a lock.
unsafe impl Send for Descriptor {}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: made in `Descriptor::new`, not used again.
        unsafe { sys::cudnnBackendDestroyDescriptor(self.0) };
    }
}

impl Descriptor {
    fn new(kind: Kind) -> Result<Self, EngineError> {
        let mut descriptor = std::ptr::null_mut();
        // SAFETY: writes one pointer.
        unsafe { sys::cudnnBackendCreateDescriptor(kind, &mut descriptor) }
            .result()
            .map_err(failed("describing a convolution"))?;
        Ok(Self(descriptor))
    }

    fn with<V>(self, name: Name, kind: Type, values: &[V]) -> Result<Self, EngineError> {
        // SAFETY: the values are of the kind that the attribute takes, and copied.
        unsafe {
            sys::cudnnBackendSetAttribute(self.0, name, kind, values.len() as i64, values.as_ptr().cast())
        }
        .result()
        .map_err(failed("describing a convolution"))?;
        Ok(self)
    }

    fn done(self) -> Result<Self, EngineError> {
        // SAFETY: all attributes it needs are set, or the library says which are not.
        unsafe { sys::cudnnBackendFinalize(self.0) }.result().map_err(failed("describing a convolution"))?;
        Ok(self)
    }

    /// A tensor of logical sizes \[n, c, h, w\] with channels last in memory.
    fn tensor(id: i64, [n, c, h, w]: [usize; 4]) -> Result<Self, EngineError> {
        let sizes = [n as i64, c as i64, h as i64, w as i64];
        let strides = [(h * w * c) as i64, 1, (w * c) as i64, c as i64];
        Self::new(Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR)?
            .with(
                Name::CUDNN_ATTR_TENSOR_DATA_TYPE,
                Type::CUDNN_TYPE_DATA_TYPE,
                &[Data::CUDNN_DATA_BFLOAT16],
            )?
            .with(Name::CUDNN_ATTR_TENSOR_DIMENSIONS, Type::CUDNN_TYPE_INT64, &sizes)?
            .with(Name::CUDNN_ATTR_TENSOR_STRIDES, Type::CUDNN_TYPE_INT64, &strides)?
            .with(Name::CUDNN_ATTR_TENSOR_UNIQUE_ID, Type::CUDNN_TYPE_INT64, &[id])?
            .with(Name::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Type::CUDNN_TYPE_INT64, &[16_i64])?
            .done()
    }

    /// A 3x3 window with a border of zeros, summed in f32.
    fn window() -> Result<Self, EngineError> {
        let mode = sys::cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION;
        let mut window = Self::new(Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)?
            .with(
                Name::CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
                Type::CUDNN_TYPE_DATA_TYPE,
                &[Data::CUDNN_DATA_FLOAT],
            )?
            .with(Name::CUDNN_ATTR_CONVOLUTION_CONV_MODE, Type::CUDNN_TYPE_CONVOLUTION_MODE, &[mode])?
            .with(Name::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Type::CUDNN_TYPE_INT64, &[2_i64])?;
        for name in [
            Name::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
            Name::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
            Name::CUDNN_ATTR_CONVOLUTION_DILATIONS,
            Name::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
        ] {
            window = window.with(name, Type::CUDNN_TYPE_INT64, &[1_i64, 1])?;
        }
        window.done()
    }
}

/// What the library calls an operation and its parts: x, w, y, window, and the two factors.
fn names(pass: Pass) -> (Kind, [Name; 6]) {
    match pass {
        Pass::Forward => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
            ],
        ),
        Pass::Input => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
            ],
        ),
        Pass::Weight => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
            ],
        ),
    }
}

/// The plans that the library suggests for a shape, best guess first.
fn suggestions(handle: &Handle, shape: Shape) -> Result<Vec<Plan>, EngineError> {
    let Shape { pass, batch, height, width, c, o } = shape;
    let child = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
    let mut suggestions = Vec::new();
    for place in 0..SUGGESTIONS {
        // Each plan owns its parts, so that plans not chosen can go.
        let tensors = [
            Descriptor::tensor(1, [batch, c, height, width])?,
            Descriptor::tensor(2, [o, c, 3, 3])?,
            Descriptor::tensor(3, [batch, o, height, width])?,
            Descriptor::window()?,
        ];
        let (kind, [x, w, y, window, alpha, beta]) = names(pass);
        let mut operation = Descriptor::new(kind)?;
        for (name, tensor) in [x, w, y, window].into_iter().zip(&tensors) {
            operation = operation.with(name, child, &[tensor.0])?;
        }
        let operation = operation
            .with(alpha, Type::CUDNN_TYPE_FLOAT, &[1.0_f32])?
            .with(beta, Type::CUDNN_TYPE_FLOAT, &[0.0_f32])?
            .done()?;
        let graph = Descriptor::new(Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)?
            .with(Name::CUDNN_ATTR_OPERATIONGRAPH_HANDLE, Type::CUDNN_TYPE_HANDLE, &[handle.0])?
            .with(Name::CUDNN_ATTR_OPERATIONGRAPH_OPS, child, &[operation.0])?
            .done()?;
        let mode = sys::cudnnBackendHeurMode_t::CUDNN_HEUR_MODE_A;
        let guide = Descriptor::new(Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)?
            .with(Name::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, child, &[graph.0])?
            .with(Name::CUDNN_ATTR_ENGINEHEUR_MODE, Type::CUDNN_TYPE_HEUR_MODE, &[mode])?
            .done()?;
        let mut parts = Vec::from(tensors);
        parts.extend([operation, graph, guide]);
        let Some(engine) = nth_engine(&parts[6], place)? else { break };
        if let Ok(plan) = plan(handle, engine, parts) {
            suggestions.push(plan);
        }
    }
    Ok(suggestions)
}

/// The configuration at a place in the library's list, if the list is so long.
fn nth_engine(guide: &Descriptor, place: usize) -> Result<Option<Descriptor>, EngineError> {
    let mut engines = Vec::new();
    for _ in 0..=place {
        engines.push(Descriptor::new(Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)?);
    }
    let mut pointers: Vec<cudnnBackendDescriptor_t> = engines.iter().map(|engine| engine.0).collect();
    let mut count = 0_i64;
    // SAFETY: fills at most as many descriptors as there are.
    unsafe {
        sys::cudnnBackendGetAttribute(
            guide.0,
            Name::CUDNN_ATTR_ENGINEHEUR_RESULTS,
            Type::CUDNN_TYPE_BACKEND_DESCRIPTOR,
            pointers.len() as i64,
            &mut count,
            pointers.as_mut_ptr().cast(),
        )
    }
    .result()
    .map_err(failed("asking for convolutions"))?;
    Ok(if count > place as i64 { engines.pop() } else { None })
}

fn plan(handle: &Handle, engine: Descriptor, mut parts: Vec<Descriptor>) -> Result<Plan, EngineError> {
    let plan = Descriptor::new(Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)?
        .with(Name::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, Type::CUDNN_TYPE_HANDLE, &[handle.0])?
        .with(
            Name::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
            Type::CUDNN_TYPE_BACKEND_DESCRIPTOR,
            &[engine.0],
        )?
        .done()?;
    parts.push(engine);
    let (mut workspace, mut count) = (0_i64, 0_i64);
    // SAFETY: writes one number.
    unsafe {
        sys::cudnnBackendGetAttribute(
            plan.0,
            Name::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
            Type::CUDNN_TYPE_INT64,
            1,
            &mut count,
            (&raw mut workspace).cast::<c_void>(),
        )
    }
    .result()
    .map_err(failed("sizing a convolution"))?;
    Ok(Plan { plan, workspace: usize::try_from(workspace).unwrap_or(usize::MAX), _parts: parts })
}

impl Cuda {
    /// Runs a convolution on addresses of x, w and y, or of what stands in their places.
    pub(super) fn convolve(&self, shape: Shape, operands: [u64; 3]) -> Result<(), EngineError> {
        self.bind()?;
        let mut inner = locked(&self.0.convolutions.0);
        let Inner { handle, plans } = &mut *inner;
        let handle = match handle {
            Some(handle) => handle,
            None => handle.insert(self.open_cudnn()?),
        };
        // SAFETY: the stream lives as long as the card.
        unsafe { dnn::set_stream(handle.0, self.stream().cast()) }.map_err(failed("choosing a stream"))?;
        let plan = match plans.entry(shape) {
            Entry::Occupied(plan) => plan.into_mut(),
            Entry::Vacant(place) => place.insert(self.fastest_plan(handle, shape, operands)?),
        };
        self.execute(handle, plan, operands)
    }

    fn open_cudnn(&self) -> Result<Handle, EngineError> {
        libraries::load_cudnn()?;
        Ok(Handle(dnn::create_handle().map_err(failed("opening cuDNN"))?))
    }

    /// Times the suggestions. A convolution writes its result and reads nothing of it, so trials do no harm.
    fn fastest_plan(&self, handle: &Handle, shape: Shape, operands: [u64; 3]) -> Result<Plan, EngineError> {
        let mut best = None;
        for plan in suggestions(handle, shape)? {
            let trial = || self.execute(handle, &plan, operands);
            if plan.workspace > WORKSPACE || trial().is_err() {
                continue;
            }
            let seconds = self.time(|| (0..RUNS).try_for_each(|_| trial()))?;
            if best.as_ref().is_none_or(|(fastest, _)| seconds < *fastest) {
                best = Some((seconds, plan));
            }
        }
        best.map(|(_, plan)| plan).ok_or_else(|| EngineError::Cuda {
            call: "choosing a convolution",
            reason: format!("cuDNN has none for {shape:?}"),
        })
    }

    fn execute(&self, handle: &Handle, plan: &Plan, operands: [u64; 3]) -> Result<(), EngineError> {
        let workspace = self.memory(plan.workspace)?;
        let pack = Descriptor::new(Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)?
            .with(Name::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, Type::CUDNN_TYPE_VOID_PTR, &operands)?
            .with(Name::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, Type::CUDNN_TYPE_INT64, &[1_i64, 2, 3])?
            .with(Name::CUDNN_ATTR_VARIANT_PACK_WORKSPACE, Type::CUDNN_TYPE_VOID_PTR, &[workspace.address()])?
            .done()?;
        // SAFETY: operands are addresses of live tensors of the plan's sizes.
        unsafe { sys::cudnnBackendExecute(handle.0, plan.plan.0, pack.0) }
            .result()
            .map_err(failed("a convolution"))
    }
}
