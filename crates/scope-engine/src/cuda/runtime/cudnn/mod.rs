//! 3x3 convolutions through cuDNN's backend interface: bf16, channels last, channels in multiples of eight.

mod descriptor;

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    sync::Mutex,
};

use cudarc::cudnn::{
    result as dnn,
    sys::{
        self, cudnnBackendAttributeName_t as Name, cudnnBackendAttributeType_t as Type,
        cudnnBackendDescriptor_t, cudnnBackendDescriptorType_t as Kind, cudnnBackendHeurMode_t as Heuristic,
        cudnnBackendNumericalNote_t as Note,
    },
};

use super::{Cuda, cache::Cache, failed, libraries, locked};
use crate::{
    cuda::convolution::{Pass, Shape},
    error::EngineError,
};
use descriptor::{Descriptor, names};

/// The library's heuristics for which plans are fast. Their lists differ.
const HEURISTICS: [Heuristic; 2] = [Heuristic::CUDNN_HEUR_MODE_A, Heuristic::CUDNN_HEUR_MODE_B];
/// Plans of each list that are timed.
const SUGGESTIONS: usize = 8;
/// Runs timed for each.
const RUNS: usize = 4;
/// Plans that want more scratch than this are passed over.
const WORKSPACE: usize = 1 << 30;

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
    /// Its place in the library's lists, of which each has [`SUGGESTIONS`].
    place: usize,
    _parts: Vec<Descriptor>,
}

/// The plan at a place in the library's lists for a shape, best guess first; none beyond a list's end. A plan that
/// cannot be used, or whose results may differ from run to run, is an error.
fn suggestion(handle: &Handle, shape: Shape, place: usize) -> Option<Result<Plan, EngineError>> {
    let described = || -> Result<Option<Plan>, EngineError> {
        let Some(heuristic) = HEURISTICS.get(place / SUGGESTIONS) else { return Ok(None) };
        let parts = describe(handle, shape, *heuristic)?;
        // The heuristic comes last.
        let Some(engine) = nth_engine(&parts[parts.len() - 1], place % SUGGESTIONS)? else { return Ok(None) };
        if is_nondeterministic(&engine)? {
            let reason = "its results may differ from run to run".to_owned();
            return Err(EngineError::Cuda { call: "choosing a convolution", reason });
        }
        plan(handle, engine, place, parts).map(Some)
    };
    described().transpose()
}

/// A convolution and the library's heuristic to it. Each plan owns its parts, so that plans not chosen can go.
fn describe(handle: &Handle, shape: Shape, mode: Heuristic) -> Result<Vec<Descriptor>, EngineError> {
    let Shape { pass, batch, height, width, c, o } = shape;
    let child = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
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
    let heuristic = Descriptor::new(Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)?
        .with(Name::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, child, &[graph.0])?
        .with(Name::CUDNN_ATTR_ENGINEHEUR_MODE, Type::CUDNN_TYPE_HEUR_MODE, &[mode])?
        .done()?;
    Ok(tensors.into_iter().chain([operation, graph, heuristic]).collect())
}

/// Whether an engine's results may differ from run to run.
fn is_nondeterministic(configuration: &Descriptor) -> Result<bool, EngineError> {
    let engine = Descriptor::new(Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR)?;
    let child = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
    configuration.read(Name::CUDNN_ATTR_ENGINECFG_ENGINE, child, &mut [engine.0])?;
    let mut notes = [Note::CUDNN_NUMERICAL_NOTE_TENSOR_CORE; 16];
    let kind = Type::CUDNN_TYPE_NUMERICAL_NOTE;
    let count = engine.read(Name::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, kind, &mut notes)?;
    Ok(notes.iter().take(count).any(|note| *note == Note::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
}

/// The configuration at a place in the library's list, if the list is so long.
fn nth_engine(heuristic: &Descriptor, place: usize) -> Result<Option<Descriptor>, EngineError> {
    let mut engines = Vec::new();
    for _ in 0..=place {
        engines.push(Descriptor::new(Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)?);
    }
    let mut pointers: Vec<cudnnBackendDescriptor_t> = engines.iter().map(|engine| engine.0).collect();
    let count = heuristic.read(
        Name::CUDNN_ATTR_ENGINEHEUR_RESULTS,
        Type::CUDNN_TYPE_BACKEND_DESCRIPTOR,
        &mut pointers,
    )?;
    Ok(if count > place { engines.pop() } else { None })
}

fn plan(
    handle: &Handle,
    engine: Descriptor,
    place: usize,
    mut parts: Vec<Descriptor>,
) -> Result<Plan, EngineError> {
    let plan = Descriptor::new(Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)?
        .with(Name::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, Type::CUDNN_TYPE_HANDLE, &[handle.0])?
        .with(
            Name::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
            Type::CUDNN_TYPE_BACKEND_DESCRIPTOR,
            &[engine.0],
        )?
        .done()?;
    parts.push(engine);
    let mut workspace = [0_i64];
    plan.read(Name::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, Type::CUDNN_TYPE_INT64, &mut workspace)?;
    Ok(Plan { plan, workspace: usize::try_from(workspace[0]).unwrap_or(usize::MAX), place, _parts: parts })
}

impl Cuda {
    /// Runs a convolution on addresses of x, w and y, or of what stands in their places.
    pub(crate) fn convolve(&self, shape: Shape, operands: [u64; 3]) -> Result<(), EngineError> {
        self.bind()?;
        let mut inner = locked(&self.0.convolutions.0);
        let Inner { handle, plans } = &mut *inner;
        let handle = match handle {
            Some(handle) => handle,
            None => handle.insert(self.open_cudnn()?),
        };
        // SAFETY: the stream lives as long as the GPU.
        unsafe { dnn::set_stream(handle.0, self.stream().cast()) }.map_err(failed("choosing a stream"))?;
        let plan = match plans.entry(shape) {
            Entry::Occupied(plan) => plan.into_mut(),
            Entry::Vacant(place) => {
                let plan = place.insert(self.fastest_plan(handle, shape, operands)?);
                self.note_algorithm(&format!("convolution {shape}"), &format!("suggestion {}", plan.place));
                plan
            }
        };
        self.execute(handle, plan, operands)
    }

    fn open_cudnn(&self) -> Result<Handle, EngineError> {
        libraries::load_cudnn()?;
        Ok(Handle(dnn::create_handle().map_err(failed("opening cuDNN"))?))
    }

    /// The plan that was fastest once on this GPU, or is now. What is chosen is kept on disk, so that the next process
    /// computes the same bits.
    fn fastest_plan(&self, handle: &Handle, shape: Shape, operands: [u64; 3]) -> Result<Plan, EngineError> {
        let kept = kept(&self.0.cache).get(&shape.to_string()).copied();
        if let Some(Ok(plan)) = kept.and_then(|place| suggestion(handle, shape, place))
            && self.execute(handle, &plan, operands).is_ok()
        {
            return Ok(plan);
        }
        let plan = self.time_plans(handle, shape, operands)?;
        keep(&self.0.cache, shape, plan.place);
        Ok(plan)
    }

    /// Times the suggestions. A convolution writes its result and reads nothing of it, so trials do no harm.
    fn time_plans(&self, handle: &Handle, shape: Shape, operands: [u64; 3]) -> Result<Plan, EngineError> {
        let mut best = None;
        let places = 0..HEURISTICS.len() * SUGGESTIONS;
        for plan in places.filter_map(|place| suggestion(handle, shape, place)).flatten() {
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
            reason: format!("cuDNN has none for {shape}"),
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

/// The file of chosen plans: a shape and a place in the library's lists a line. The library's version is in its name.
fn file() -> String {
    // SAFETY: asks for a number.
    format!("convolutions-{}.txt", unsafe { sys::cudnnGetVersion() })
}

fn kept(cache: &Cache) -> BTreeMap<String, usize> {
    let text = cache.read(&file()).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let line = |line: &str| {
        let (shape, place) = line.split_once(": ")?;
        Some((shape.to_owned(), place.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

fn keep(cache: &Cache, shape: Shape, place: usize) {
    let mut all = kept(cache);
    all.insert(shape.to_string(), place);
    let lines: Vec<String> = all.iter().map(|(shape, place)| format!("{shape}: {place}\n")).collect();
    cache.write(&file(), lines.concat().as_bytes());
}
