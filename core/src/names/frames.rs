//! Names of Python frames: which are the framework's own, and how to write them short.

use super::MODULE;
use super::batch::Engine;

/// Python files of the framework: what is called from them was called from further out.
#[rustfmt::skip]
const FRAMEWORK: &[&str] = &[
    "torch/", "<built-in", "pybind11", "<string>", "<frozen", "threading.py", "contextlib.py",
    "functools.py", "triton/",
];

/// Files of the framework that only pass calls on.
#[rustfmt::skip]
const PASSING_ON: &[&str] = &[
    "torch/nn/modules/", "torch/nn/functional.py", "torch/_VF.py", "torch/_ops.py", "torch/overrides.py",
    "torch/_jit_internal.py", "torch/utils/_contextlib.py", "torch/utils/_pytree.py",
    "torch/_dynamo/eval_frame.py", "torch/_tensor.py", "torch/utils/_device.py", "torch/nn/parameter.py",
];

/// Libraries that compute for whoever calls them.
#[rustfmt::skip]
const LIBRARIES: &[&str] = &[
    "numpy", "scipy", "PIL", "cv2", "skimage", "pandas", "librosa", "numba", "pyarrow", "einops",
];

/// Modules of Python's own library, by file or folder.
#[rustfmt::skip]
const STANDARD: &[&str] = &[
    "_collections_abc", "abc", "ast", "asyncio", "codecs", "collections", "concurrent", "contextlib",
    "copy", "copyreg", "dataclasses", "enum", "fnmatch", "functools", "genericpath", "glob", "hashlib",
    "heapq", "importlib", "inspect", "json", "linecache", "logging", "multiprocessing", "numbers", "os",
    "pathlib", "pickle", "posixpath", "queue", "random", "re", "selectors", "socket", "subprocess",
    "tempfile", "threading", "tokenize", "traceback", "types", "typing", "warnings", "weakref",
];

/// Packages that programs use, by the first folder of a file's path: profilers leave out where packages
/// are installed.
#[rustfmt::skip]
const PACKAGES: &[&str] = &[
    "accelerate", "aiter", "apex", "bitsandbytes", "click", "datasets", "debugpy", "deepspeed", "diffusers",
    "fairseq", "fairscale", "fastapi", "flash_attn", "flashinfer", "fsspec", "gradio", "huggingface_hub",
    "hydra", "IPython", "ipykernel", "jax", "joblib", "jupyter_client", "keras", "lightning",
    "lightning_fabric", "llama_cpp", "matplotlib", "megatron", "mmcv", "mmengine", "nltk", "omegaconf",
    "onnxruntime", "optimum", "peft", "pydantic", "pydantic_core", "pytorch_lightning", "ray", "regex",
    "requests", "safetensors", "sentence_transformers", "sentencepiece", "sglang", "sklearn", "starlette",
    "tensordict", "tensorflow", "timm", "tokenizers", "torchaudio", "torchdata", "torchmetrics", "torchtitan",
    "torchtune", "torchvision", "tornado", "tqdm", "traitlets", "transformer_engine", "transformers", "trl",
    "unsloth", "urllib3", "uvicorn", "uvloop", "vllm", "wandb", "xformers", "xfuser", "zmq",
];

/// The framework's own packages, likewise.
const PYTORCH: &[&str] = &["torch", "functorch", "torchgen", "triton"];

/// Whose code a Python function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeOf {
    /// The program's own.
    Program,
    /// PyTorch's, with what its compiler wrote.
    PyTorch,
    /// An installed package's, or Python's own library's.
    Library,
}

impl CodeOf {
    /// What the file of a Python frame tells; `None` for what is no Python function.
    pub fn frame(name: &str) -> Option<CodeOf> {
        if name.starts_with("<built-in") {
            return Some(CodeOf::Library);
        }
        let frame = Frame::of(name)?;
        let path = frame.package_path();
        let first = path.split('/').next().unwrap_or_default();
        let is_in_folder = first.len() < path.len();
        let is_one_of = |names: &[&str]| is_in_folder && names.contains(&first);
        let is_installed = path.len() < frame.path.len() || frame.path.starts_with('<');
        Some(match () {
            () if frame.is_generated() || is_one_of(PYTORCH) => CodeOf::PyTorch,
            () if is_installed || is_one_of(PACKAGES) || is_one_of(LIBRARIES) => CodeOf::Library,
            () if frame.is_standard() => CodeOf::Library,
            () => CodeOf::Program,
        })
    }

    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            CodeOf::Program => "own code",
            CodeOf::PyTorch => "PyTorch",
            CodeOf::Library => "library",
        }
    }
}

/// Whether a Python frame is the framework's own, or no function at all but a module.
pub(crate) fn is_framework(frame: &str) -> bool {
    frame.starts_with(MODULE) || FRAMEWORK.iter().any(|part| frame.contains(part))
}

/// What a Python function of a serving engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EngineStep {
    pub(crate) engine: Engine,
    /// Made-up requests, to warm up: no step.
    pub(crate) is_warm_up: bool,
}

/// File, function, engine, and whether it warms up.
const ENGINE_STEPS: &[(&str, &str, Engine, bool)] = &[
    ("gpu_model_runner.py", "execute_model", Engine::Vllm, false),
    ("gpu_model_runner.py", "_dummy_run", Engine::Vllm, true),
    ("cuda_graph_runner.py", "replay", Engine::Sglang, false),
];

/// Whether a Python frame is a step of a serving engine.
pub(crate) fn engine_step(frame: &str) -> Option<EngineStep> {
    let frame = Frame::of(frame)?;
    let is_of = |file: &str, function: &str| frame.file() == file && frame.function == function;
    let row = ENGINE_STEPS.iter().find(|row| is_of(row.0, row.1))?;
    Some(EngineStep {
        engine: row.2,
        is_warm_up: row.3,
    })
}

/// A frame's name without the folders of its file.
pub fn file_of(frame: &str) -> &str {
    let end = frame.find('(').unwrap_or(frame.len());
    let folder = frame.get(..end).and_then(|path| path.rfind('/'));
    folder.map_or(frame, |at| frame.get(at + 1..).unwrap_or(frame))
}

/// `folder/file.py(301): function`: a Python function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) path: &'a str,
    pub(crate) line: &'a str,
    pub(crate) function: &'a str,
}

impl<'a> Frame<'a> {
    /// `None` for what is no Python function, or one that is built in.
    pub(crate) fn of(name: &'a str) -> Option<Frame<'a>> {
        let (place, function) = name.rsplit_once("): ")?;
        let (path, line) = place.rsplit_once('(')?;
        let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        is_line.then_some(Frame {
            path,
            line,
            function,
        })
    }

    /// The path from where packages are installed.
    pub(crate) fn package_path(self) -> &'a str {
        let marks = ["site-packages/", "dist-packages/"];
        let found = marks.iter().find_map(|mark| self.path.rsplit_once(mark));
        found.map_or(self.path, |(_, path)| path)
    }

    pub(crate) fn file(self) -> &'a str {
        self.path
            .rsplit_once('/')
            .map_or(self.path, |(_, file)| file)
    }

    /// Whether a compiler wrote it: `/tmp/torchinductor_me/ov/cov463qhi2….py`.
    pub(crate) fn is_generated(self) -> bool {
        self.path.contains("torchinductor_")
    }

    /// Whether it is of a file (`torch/serialization.py`), of a file of a package (`PIL/`), or of a
    /// file whose name starts so (`tokenization_*`).
    pub(crate) fn is_of(self, file: &str) -> bool {
        if let Some(start) = file.strip_suffix('*') {
            return self.file().starts_with(start);
        }
        let after_folder = |path: &str| path.is_empty() || path.ends_with('/');
        match file.ends_with('/') {
            true => {
                self.path.starts_with(file)
                    || self
                        .path
                        .find(file)
                        .is_some_and(|at| at > 0 && self.path.get(..at).is_some_and(after_folder))
            }
            false => self.path.strip_suffix(file).is_some_and(after_folder),
        }
    }

    /// The library that it is of, where that computes for whoever calls it.
    pub(crate) fn library(self) -> Option<&'static str> {
        let path = self.package_path();
        let first = path.split('/').next()?;
        let is_in_folder = first.len() < path.len();
        let mut libraries = LIBRARIES.iter();
        let library = libraries.find(|library| is_in_folder && **library == first)?;
        Some(library)
    }

    /// Of Python's own library.
    fn is_standard(self) -> bool {
        let marked = ["/lib/python3", "<frozen"];
        if marked.iter().any(|mark| self.path.contains(mark)) && !self.path.contains("-packages/") {
            return true;
        }
        let first = self.path.split('/').next().unwrap_or_default();
        let module = first.strip_suffix(".py").unwrap_or(first);
        STANDARD.contains(&module)
    }
}

/// Whether the function that calls a Python frame says better what runs: it is built in, of a library,
/// or passes a call on.
pub(crate) fn is_helper(frame: &str) -> bool {
    if frame.starts_with('<') || frame.starts_with(MODULE) {
        return true;
    }
    let Some(frame) = Frame::of(frame) else {
        return false;
    };
    let passes_on = || PASSING_ON.iter().any(|file| frame.is_of(file));
    frame.library().is_some() || frame.is_standard() || passes_on()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_tell_file_line_and_function() {
        let name = "transformers/models/bert/modeling_bert.py(364): forward";
        let frame = Frame::of(name).unwrap();
        assert_eq!(
            (frame.file(), frame.line, frame.function),
            ("modeling_bert.py", "364", "forward")
        );
        assert_eq!(Frame::of("<built-in function len>"), None);
        assert_eq!(Frame::of("aten::mm"), None);
    }

    #[test]
    fn files_tell_whose_code_a_function_is() {
        let cases = [
            ("train.py(30): main", Some(CodeOf::Program)),
            ("/home/me/model/block.py(3): forward", Some(CodeOf::Program)),
            ("model/block.py(3): forward", Some(CodeOf::Program)),
            (
                "torch/nn/modules/module.py(1740): _call_impl",
                Some(CodeOf::PyTorch),
            ),
            (
                "/venv/lib/python3.12/site-packages/torch/_ops.py(1): __call__",
                Some(CodeOf::PyTorch),
            ),
            (
                "/tmp/torchinductor_me/ov/cov463.py(9): call",
                Some(CodeOf::PyTorch),
            ),
            (
                "transformers/models/bert/modeling_bert.py(364): forward",
                Some(CodeOf::Library),
            ),
            (
                "/venv/lib/python3.12/site-packages/mine/worker.py(3): run",
                Some(CodeOf::Library),
            ),
            ("contextlib.py(81): inner", Some(CodeOf::Library)),
            ("<built-in function len>", Some(CodeOf::Library)),
            ("nn.Module: Linear_3", None),
            ("aten::mm", None),
        ];
        for (name, code) in cases {
            assert_eq!(CodeOf::frame(name), code, "{name}");
        }
    }

    #[test]
    fn helpers_and_their_libraries() {
        let cases = [
            ("<built-in function isinstance>", true, None),
            (
                "scipy/ndimage/_interpolation.py(700): zoom",
                true,
                Some("scipy"),
            ),
            (
                "/venv/lib/python3.12/site-packages/numpy/linalg/linalg.py(1): svd",
                true,
                Some("numpy"),
            ),
            ("inspect.py(3265): signature", true, None),
            ("/usr/lib/python3.10/copy.py(128): deepcopy", true, None),
            ("torch/nn/modules/module.py(1740): _call_impl", true, None),
            ("torch/optim/adamw.py(150): step", false, None),
            ("image_processing_owlv2.py(301): resize", false, None),
            (
                "/venv/lib/python3.12/site-packages/vllm/worker.py(3): run",
                false,
                None,
            ),
        ];
        for (name, is, library) in cases {
            assert_eq!(is_helper(name), is, "{name}");
            let found = Frame::of(name).and_then(Frame::library);
            assert_eq!(found, library, "{name}");
        }
    }
}
