//! Matrix products through cuBLASLt, with the algorithm of each shape timed once and kept on disk.

use std::{
    collections::{HashMap, hash_map::Entry},
    ffi::c_void,
    sync::Mutex,
};

use cudarc::cublaslt::{result as lt, sys};

use super::{Cuda, cache::Cache, failed, locked, streams::WORKSPACE};
use crate::{
    cuda::gemm::{Kind, Operands, Shape},
    dtype::Dtype,
    error::EngineError,
};

/// How many of the library's suggestions are timed.
const SUGGESTIONS: usize = 32;
/// Runs timed for each suggestion.
const RUNS: usize = 20;
/// Sums over pieces of a product must be exact in order and precision: neither in place nor in bf16.
const REDUCTIONS: u32 = 2;

/// The library, and the plans made so far.
pub(super) struct Products {
    handle: sys::cublasLtHandle_t,
    plans: Mutex<Plans>,
}

// SAFETY: the handle may be used from any thread; plans are behind a lock.
unsafe impl Send for Products {}
// SAFETY: as above.
unsafe impl Sync for Products {}

#[derive(Default)]
struct Plans {
    made: HashMap<Shape, Plan>,
    /// Algorithms as the disk has them, by the shape's name; read when first wanted.
    kept: Option<Kept>,
}

/// Algorithms by the names of shapes.
type Kept = HashMap<String, [u64; 8]>;

/// A product ready to run: descriptors and the chosen algorithm.
struct Plan {
    product: sys::cublasLtMatmulDesc_t,
    first: sys::cublasLtMatrixLayout_t,
    second: sys::cublasLtMatrixLayout_t,
    added: sys::cublasLtMatrixLayout_t,
    out: sys::cublasLtMatrixLayout_t,
    algorithm: sys::cublasLtMatmulAlgo_t,
}

// SAFETY: descriptors are plain memory, used behind a lock.
unsafe impl Send for Plan {}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: made in `Plan::new`, not used again. Failing to free them is no matter.
        unsafe {
            let _ = lt::destroy_matmul_desc(self.product);
            for layout in [self.first, self.second, self.added, self.out] {
                let _ = lt::destroy_matrix_layout(layout);
            }
        }
    }
}

impl Drop for Products {
    fn drop(&mut self) {
        // SAFETY: made in `Products::new`, not used again.
        let _ = unsafe { lt::destroy_handle(self.handle) };
    }
}

impl Products {
    pub(super) fn new() -> Result<Self, EngineError> {
        let handle = lt::create_handle().map_err(failed("opening cuBLASLt"))?;
        Ok(Self { handle, plans: Mutex::default() })
    }
}

fn data_type(dtype: Dtype) -> sys::cudaDataType {
    match dtype {
        Dtype::Bf16 => sys::cudaDataType::CUDA_R_16BF,
        _ => sys::cudaDataType::CUDA_R_32F,
    }
}

/// Sets one attribute of a product.
fn set<T>(
    product: sys::cublasLtMatmulDesc_t,
    attribute: sys::cublasLtMatmulDescAttributes_t,
    value: T,
) -> Result<(), EngineError> {
    // SAFETY: the value is as large as said, and copied.
    unsafe { lt::set_matmul_desc_attribute(product, attribute, (&raw const value).cast(), size_of::<T>()) }
        .map_err(failed("describing a product"))
}

/// Makes a matrix the first of several, so many numbers apart.
fn batch(layout: sys::cublasLtMatrixLayout_t, times: usize, stride: usize) -> Result<(), EngineError> {
    use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
    if times == 1 {
        return Ok(());
    }
    let times = i32::try_from(times).unwrap_or(i32::MAX);
    let stride = stride as i64;
    // SAFETY: the values are as large as said, and copied.
    unsafe {
        lt::set_matrix_layout_attribute(
            layout,
            Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
            (&raw const times).cast(),
            size_of::<i32>(),
        )
        .and_then(|()| {
            lt::set_matrix_layout_attribute(
                layout,
                Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                (&raw const stride).cast(),
                size_of::<i64>(),
            )
        })
    }
    .map_err(failed("describing a batch of matrices"))
}

impl Plan {
    /// Describes a product. The library thinks in columns: our out \[m, n\] is its \[n, m\], and the factors swap.
    fn new(shape: Shape) -> Result<Self, EngineError> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let Shape { kind, m, n, k, input, out, .. } = shape;
        let compute = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
        let product =
            lt::create_matmul_desc(compute, sys::cudaDataType::CUDA_R_32F).map_err(failed("a product"))?;
        // A matrix that is added again and again makes a batch of products, one for each time.
        let (rows, times) =
            if shape.period > 0 { (shape.period, m / shape.period) } else { (m, kind.times()) };
        let along = matches!(kind, Kind::Along(_) | Kind::AlongTurned(_));
        let pairs = matches!(kind, Kind::Pairs(_) | Kind::PairsTurned(_));
        let turned = matches!(kind, Kind::Weight | Kind::AlongTurned(_));
        let by_columns = matches!(kind, Kind::Forward | Kind::PairsTurned(_));
        let layout = |dtype, [height, width]: [usize; 2], stride: usize| {
            // Of products along an axis only the matrix stays where it is, and has longer rows.
            let step = if along && stride == 0 { height.next_multiple_of(8) } else { height };
            let layout = lt::create_matrix_layout(data_type(dtype), height as u64, width as u64, step as i64)
                .map_err(failed("describing a matrix"))?;
            batch(layout, times, stride)?;
            Ok::<_, EngineError>(layout)
        };
        let first = if by_columns { [k, n] } else { [n, k] };
        let second = if turned { [rows, k] } else { [k, rows] };
        // SAFETY: all zeros is a value; it is replaced before use.
        let algorithm = unsafe { std::mem::zeroed() };
        let plan = Self {
            product,
            first: layout(input, first, if along || pairs { k * n } else { 0 })?,
            second: layout(input, second, if along { 0 } else { rows * k })?,
            added: layout(out, [n, rows], if shape.period > 0 { 0 } else { rows * n })?,
            out: layout(out, [n, rows], rows * n)?,
            algorithm,
        };
        set(product, Attribute::CUBLASLT_MATMUL_DESC_TRANSA, i32::from(by_columns))?;
        set(product, Attribute::CUBLASLT_MATMUL_DESC_TRANSB, i32::from(turned))?;
        if shape.bias {
            let epilogue = sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS;
            set(product, Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue)?;
            set(product, Attribute::CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(out))?;
        }
        Ok(plan)
    }

    /// The library's suggestions, best guess first.
    fn suggestions(
        &self,
        handle: sys::cublasLtHandle_t,
    ) -> Result<Vec<sys::cublasLtMatmulAlgo_t>, EngineError> {
        use sys::cublasLtMatmulPreferenceAttributes_t as Attribute;
        let preference = lt::create_matmul_pref().map_err(failed("preferring algorithms"))?;
        // SAFETY: values are as large as said, and copied.
        let prefer = |attribute, value: *const c_void, size| unsafe {
            lt::set_matmul_pref_attribute(preference, attribute, value, size)
        };
        let workspace = WORKSPACE;
        let mut found = [const { std::mem::MaybeUninit::zeroed() }; SUGGESTIONS];
        let mut count = 0;
        let asked = prefer(
            Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            (&raw const workspace).cast(),
            size_of::<usize>(),
        )
        .and_then(|()| {
            let mask = REDUCTIONS;
            let value = (&raw const mask).cast();
            prefer(Attribute::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, value, size_of::<u32>())
        })
        .and_then(|()| {
            // SAFETY: writes at most SUGGESTIONS results.
            unsafe {
                sys::cublasLtMatmulAlgoGetHeuristic(
                    handle,
                    self.product,
                    self.first,
                    self.second,
                    self.added,
                    self.out,
                    preference,
                    SUGGESTIONS as i32,
                    found.as_mut_ptr().cast(),
                    &mut count,
                )
            }
            .result()
        });
        // SAFETY: made above, not used again.
        let _ = unsafe { lt::destroy_matmul_pref(preference) };
        asked.map_err(failed("asking for algorithms"))?;
        let results = found.into_iter().take(usize::try_from(count).unwrap_or(0)).map(|result| {
            // SAFETY: zeros are a value, and the first `count` were written.
            unsafe { std::mem::MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::assume_init(result) }
        });
        let good = |result: &sys::cublasLtMatmulHeuristicResult_t| {
            result.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS
        };
        Ok(results.filter(good).map(|result| result.algo).collect())
    }
}

impl Cuda {
    /// Runs a product.
    pub(crate) fn product(&self, shape: Shape, operands: Operands) -> Result<(), EngineError> {
        self.product_scaled(shape, operands, [1.0; 2])
    }

    /// Runs a product, with factors of the product itself and of the matrix that is added.
    pub(crate) fn product_scaled(
        &self,
        shape: Shape,
        operands: Operands,
        factors: [f32; 2],
    ) -> Result<(), EngineError> {
        self.bind()?;
        let mut plans = locked(&self.0.products.plans);
        let Plans { made, kept } = &mut *plans;
        let plan = match made.entry(shape) {
            Entry::Occupied(plan) => plan.into_mut(),
            Entry::Vacant(place) => place.insert(self.plan(shape, operands, kept)?),
        };
        self.run(plan, &plan.algorithm, shape, operands, factors)
    }

    fn run(
        &self,
        plan: &Plan,
        algorithm: &sys::cublasLtMatmulAlgo_t,
        shape: Shape,
        operands: Operands,
        [alpha, added]: [f32; 2],
    ) -> Result<(), EngineError> {
        if shape.bias {
            let pointer = sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER;
            set(plan.product, pointer, operands.bias)?;
        }
        let beta = if shape.add { added } else { 0.0 };
        let add = if shape.add { operands.add } else { operands.out };
        let products = &self.0.products;
        // SAFETY: operands are addresses of live matrices of the plan's sizes; scalars are read before it returns.
        unsafe {
            lt::matmul(
                products.handle,
                plan.product,
                (&raw const alpha).cast(),
                (&raw const beta).cast(),
                operands.right as *const c_void,
                plan.first,
                operands.left as *const c_void,
                plan.second,
                add as *const c_void,
                plan.added,
                operands.out as *mut c_void,
                plan.out,
                algorithm,
                self.workspace() as *mut c_void,
                WORKSPACE,
                self.stream().cast(),
            )
        }
        .map_err(|error| EngineError::Cuda { call: "a product", reason: format!("{shape}: {error:?}") })
    }

    /// Describes a product and chooses its algorithm: the one on disk, or the fastest of the suggestions.
    fn plan(&self, shape: Shape, operands: Operands, kept: &mut Option<Kept>) -> Result<Plan, EngineError> {
        let mut plan = Plan::new(shape)?;
        let kept = kept.get_or_insert_with(|| read_kept(&self.0.cache));
        match kept.get(&shape.to_string()) {
            Some(data) => plan.algorithm.data = *data,
            None => {
                plan.algorithm = self.fastest(&plan, shape, operands)?;
                kept.insert(shape.to_string(), plan.algorithm.data);
                write_kept(&self.0.cache, kept);
            }
        }
        self.note_algorithm(&format!("product {shape}"), &words(plan.algorithm.data));
        Ok(plan)
    }

    fn fastest(
        &self,
        plan: &Plan,
        shape: Shape,
        operands: Operands,
    ) -> Result<sys::cublasLtMatmulAlgo_t, EngineError> {
        if self.is_recording() {
            // No time to time: the library's best guess.
            let first = plan.suggestions(self.0.products.handle)?.into_iter().next();
            return first.ok_or_else(|| no_algorithm(shape));
        }
        // Sums must not be added to twice, so the trials write elsewhere.
        let scratch = self.memory(shape.kind.times() * shape.m * shape.n * shape.out.size())?;
        let operands = Operands { out: scratch.address(), ..operands };
        let mut best = None;
        for algorithm in plan.suggestions(self.0.products.handle)? {
            let trial = || self.run(plan, &algorithm, shape, operands, [1.0; 2]);
            if trial().is_err() {
                continue;
            }
            let seconds = self.time_recorded(|| (0..RUNS).try_for_each(|_| trial()))?;
            if best.is_none_or(|(fastest, _)| seconds < fastest) {
                best = Some((seconds, algorithm));
            }
        }
        best.map(|(_, algorithm)| algorithm).ok_or_else(|| no_algorithm(shape))
    }
}

fn no_algorithm(shape: Shape) -> EngineError {
    EngineError::Cuda { call: "choosing an algorithm", reason: format!("cuBLASLt has none for {shape}") }
}

/// The file of chosen algorithms: a shape and eight numbers a line. The library's version is in its name.
fn file() -> String {
    // SAFETY: asks for a number.
    format!("products-{}.txt", unsafe { sys::cublasLtGetVersion() })
}

fn read_kept(cache: &Cache) -> Kept {
    let text = cache.read(&file()).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let line = |line: &str| -> Option<(String, [u64; 8])> {
        let (shape, numbers) = line.split_once(": ")?;
        let numbers: Option<Vec<u64>> = numbers.split(' ').map(|n| u64::from_str_radix(n, 16).ok()).collect();
        Some((shape.to_owned(), numbers?.try_into().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// An algorithm in writing.
fn words(data: [u64; 8]) -> String {
    data.map(|number| format!("{number:x}")).join(" ")
}

fn write_kept(cache: &Cache, kept: &Kept) {
    let mut lines: Vec<String> =
        kept.iter().map(|(shape, data)| format!("{shape}: {}\n", words(*data))).collect();
    lines.sort();
    cache.write(&file(), lines.concat().as_bytes());
}
