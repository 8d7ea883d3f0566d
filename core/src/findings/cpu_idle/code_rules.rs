//! The rules for code that keeps the GPU idle, by what it does.

use super::code::ObservedCode;
use super::step_code::{StepCode, cpu_operators};
use crate::findings::prelude::*;
use crate::names::cpu_activity::CpuActivity::*;

pub(super) const RULES: &[Rule<ObservedCode>] = &[
    Rule {
        key: "data_loading",
        when: "a function loads data while the GPU is idle",
        applies: |_, observed| observed.is(DataLoading),
        issue: "The CPU loads the next batch in {place}{by}: the GPU is idle for {time}.",
        model: "{workers?give the `DataLoader` more workers (`num_workers`) and a larger `prefetch_factor`, and keep them alive (`persistent_workers=True`)|load in worker processes: `DataLoader(num_workers=4, persistent_workers=True, prefetch_factor=4)`}{pageable?; copy from pinned memory (`pin_memory=True`) with `non_blocking=True`|}{iterates?|; move what `{function}` does to the GPU, or do it once ahead of time}.",
        kernel: "decode, resize and normalize on the GPU, where kernels for it exist.",
        ..CODE
    },
    Rule {
        key: "preprocessing",
        when: "a function preprocesses images, audio or video while the GPU is idle",
        applies: |_, observed| observed.is(Preprocessing),
        issue: "The CPU preprocesses inputs in {place}{by}: the GPU is idle for {time}.",
        model: "preprocess on the GPU (`torchvision.transforms.v2` on GPU tensors; `AutoImageProcessor.from_pretrained(…, use_fast=True)` with `device=\"cuda\"`), in `DataLoader` workers while the GPU computes, or once ahead of time.",
        kernel: "decode, resize and normalize on the GPU, where kernels for it exist.",
        ..CODE
    },
    Rule {
        key: "tokenization",
        when: "text is tokenized while the GPU is idle",
        applies: |_, observed| observed.is(Tokenization),
        issue: "The CPU tokenizes text in {place}{by}: the GPU is idle for {time}.",
        model: "tokenize the next batch while the GPU computes (a thread or `DataLoader` workers), many texts in one call, with a fast tokenizer (`use_fast=True`); cache the tokens of texts that recur.",
        ..CODE
    },
    Rule {
        key: "environment_steps",
        when: "an environment of reinforcement learning takes steps on the CPU while the GPU is idle",
        applies: |_, observed| observed.is(Environment),
        issue: "The CPU steps simulated environments in {place}{by}: the GPU is idle for {time}.",
        model: "step many environments at once in other processes (`gymnasium.vector.AsyncVectorEnv`), so that one call of the policy serves them all, collect the next rollout while the GPU trains on the last one, or simulate on the GPU.",
        ..CODE
    },
    Rule {
        key: "anomaly_detection",
        when: "autograd's anomaly detection looks for NaN in gradients, and reads the result while the GPU is idle",
        applies: |_, observed| observed.is_anomaly_check,
        title: "{part} of idle time: anomaly detection",
        issue: "Autograd looks for NaN in the gradients of each operation, and the CPU waits for the result in {place}: the GPU is idle for {time}.",
        model: "switch anomaly detection off outside debugging: no `torch.autograd.set_detect_anomaly(True)` and no `torch.autograd.detect_anomaly()`; to keep recording forward calls without these checks, set `check_nan=False`.",
        ..CODE
    },
    Rule {
        when: "layers of 8 bits look for outliers in what they multiply, and the CPU waits for their number",
        applies: |input, observed| {
            observed.is(DynamicShape) && observed.is_called_by(input, &["bitsandbytes/"])
        },
        model: "leave out the search for outliers in each call (`llm_int8_threshold=0.0`), or keep these layers in FP16 or BF16, or in INT8 or FP8 with scales that are known ahead, where memory suffices.",
        ..DYNAMIC_SHAPE
    },
    Rule {
        when: "a layer looks for the tokens of each expert, and the CPU waits for their number",
        applies: |input, observed| {
            observed.is(DynamicShape) && observed.is_called_by(input, &["moe", "expert"])
        },
        model: "sort the tokens by expert once, and multiply them in one grouped GEMM for each projection (`torch._grouped_mm`) or in a fused MoE kernel: the numbers of tokens then stay on the GPU.",
        ..DYNAMIC_SHAPE
    },
    Rule {
        applies: |_, observed| observed.is(DynamicShape),
        ..DYNAMIC_SHAPE
    },
    Rule {
        key: "read_back",
        when: "a gradient scaler reads whether gradients overflowed",
        applies: |input, observed| observed.is(ReadBack) && observed.is_of_scaler(input),
        issue: "The gradient scaler reads whether gradients overflowed, and waits for the GPU in {place}{by}: the GPU is idle for {time}.",
        model: "train in BF16, which needs no scaler; in FP16 construct the optimizer with `fused=True`: its kernels take the scale and the overflow flag on the GPU, so that the scaler does not read them before each step.",
        kernel: "an optimizer kernel that takes the overflow flag from GPU memory makes the wait unnecessary.",
        ..CODE
    },
    Rule {
        key: "read_back",
        when: "the CPU reads a value of the GPU",
        applies: |_, observed| observed.is(ReadBack),
        issue: "The CPU reads a value back and waits for the GPU in {place}{by}: the GPU is idle for {time}.",
        model: "keep the value on the GPU: no `.item()`, `.cpu()`, `.tolist()`, `bool(tensor)` or printing in the loop;{pageable? copy with `non_blocking=True` to pinned memory and} read it some steps later, or for several steps at once.",
        kernel: "a kernel that takes the value from GPU memory makes the wait unnecessary.",
        ..CODE
    },
    Rule {
        key: "gpu_synchronization",
        when: "a library factorizes matrices, and waits for the GPU in between",
        applies: |_, observed| observed.is(Synchronization) && observed.is_factorization(),
        issue: "The library that {place}{by} calls waits for the GPU between its kernels: the GPU is idle for {time}.",
        model: "call `{function}` less often, and on several matrices of one size at once (a batch); compare the libraries that can do it (`torch.backends.cuda.preferred_linalg_library`), and factorize small matrices on the CPU.",
        kernel: "an implementation that decides on the GPU when to stop needs no wait.",
        ..CODE
    },
    Rule {
        key: "gpu_synchronization",
        when: "copies from or to pageable memory wait for the GPU",
        applies: |_, observed| observed.is(Synchronization) && observed.is_pageable_copy(),
        title: "{part} of idle time: copies in {place}",
        issue: "Copies from or to pageable memory make the CPU wait in {place}{by}: the GPU is idle for {time}.",
        model: "copy with `non_blocking=True` from and to pinned memory (`pin_memory()`), join many small values in one tensor and copy it once, and create constants and masks on the GPU (`device=\"cuda\"`).",
        kernel: "a kernel that takes the value from GPU memory makes the wait unnecessary.",
        ..CODE
    },
    Rule {
        key: "gpu_synchronization",
        when: "boxes are selected by non-maximum suppression, and it waits for the GPU",
        applies: |_, observed| observed.is(Synchronization) && observed.selects_boxes(),
        issue: "Each call of {place} waits for the GPU, and may finish on the CPU: the GPU is idle for {time}.",
        model: "call it once for all classes and images (`torchvision.ops.batched_nms`), on the boxes that a score threshold and `topk` leave.",
        kernel: "a kernel that also selects the boxes on the GPU makes the wait unnecessary.",
        ..CODE
    },
    Rule {
        key: "gpu_synchronization",
        when: "an operator of one place waits for the GPU",
        applies: |_, observed| observed.is(Synchronization) && observed.is_operator(),
        issue: "The CPU waits until the GPU is done in {place}, and launches only then: the GPU is idle for {time}.",
        model: "keep `{function}` from waiting: copy with `non_blocking=True` from and to pinned memory (`pin_memory()`), create tensors on the GPU (`device=\"cuda\"`), and read results of several steps at once.",
        kernel: "a kernel that takes the value from GPU memory makes the wait unnecessary.",
        ..CODE
    },
    Rule {
        key: "gpu_synchronization",
        when: "the CPU synchronizes with the GPU at one place",
        applies: |_, observed| observed.is(Synchronization),
        issue: "The CPU waits until the GPU is done in {place}{by}, and launches only then: the GPU is idle for {time}.",
        model: "take `torch.cuda.synchronize()`, and `synchronize()` of events and streams, out of the loop, as around timers: GPU events (`torch.cuda.Event(enable_timing=True)`) record times without blocking the CPU; read results of several steps at once.",
        ..CODE
    },
    Rule {
        key: "memory_allocation",
        when: "memory is allocated or freed while the GPU is idle",
        applies: |_, observed| observed.is(Allocation),
        title: "{part} of idle time: {what}",
        issue: "GPU memory, or pinned host memory, is allocated or freed in {place}{by}: the GPU is idle for {time}.",
        model: "allocate once and keep it: no `torch.cuda.empty_cache()` in the loop, pinned buffers that are made once, and peaks below what the caching allocator holds (`PYTORCH_ALLOC_CONF=expandable_segments:True` where the platform supports it); what happens only in the first steps does not recur in a long run.",
        ..CODE
    },
    Rule {
        key: "reflection",
        when: "code inspects functions and classes while the GPU is idle",
        applies: |_, observed| observed.is(Reflection),
        issue: "The CPU inspects functions or classes in {place}{by} for each call: the GPU is idle for {time}.",
        model: "compute it once: keep the result of `inspect.signature` (`functools.lru_cache`) or remove the decorator that asks for it in every call; compiled code (`torch.compile`) does not run it.",
        ..CODE
    },
    Rule {
        key: "guards",
        when: "guards of compiled code are checked while the GPU is idle",
        applies: |_, observed| observed.is(Guards),
        issue: "The CPU checks the guards of compiled code in {place}{by}: the GPU is idle for {time}.",
        model: "compile larger regions (`fullgraph=True` raises an error at each graph break that splits them), so that fewer are entered, and, once no recompilation follows, skip the guards that cannot fail: `torch.compiler.set_stance(skip_guard_eval_unsafe=True)`.",
        ..CODE
    },
    Rule {
        key: "unused_parameters",
        when: "data-parallel training searches the graph for parameters without gradients while the GPU is idle",
        applies: |_, observed| observed.is(UnusedParameters),
        title: "{part} of idle time: search for unused parameters",
        issue: "The CPU searches the graph of each step for parameters that get no gradient, in {place}{by}: the GPU is idle for {time}.",
        model: "construct `DistributedDataParallel` without `find_unused_parameters=True` if each step uses all parameters; if some stay unused, but always the same ones, freeze them (`requires_grad_(False)`) or set `static_graph=True`, which searches only once.",
        ..CODE
    },
    Rule {
        key: "garbage_collection",
        when: "Python collects garbage while the GPU is idle",
        applies: |_, observed| observed.is(GarbageCollection),
        issue: "Python collects garbage in {place}{by}: the GPU is idle for {time}.",
        model: "collect at chosen times: `gc.freeze()` after warm-up, `gc.disable()` in the loop and `gc.collect()` every N steps, while kernels are queued; on several ranks in the same step.",
        ..CODE
    },
    Rule {
        key: "waiting",
        when: "the launching thread waits for another thread or process",
        applies: |_, observed| observed.is(Waiting),
        issue: "The thread that launches waits for another thread or process in {place}{by}: the GPU is idle for {time}.",
        model: "look at what it waits for (a lock that another thread holds, a queue that is filled too slowly, another rank), and let it have the next piece of work before this one is done.",
        ..CODE
    },
    Rule {
        key: "serialization",
        when: "Python objects are pickled or unpickled while the GPU is idle",
        applies: |_, observed| observed.is(Serialization),
        issue: "The CPU pickles or unpickles Python objects in {place}{by}: the GPU is idle for {time}.",
        model: "send tensors instead of objects: `all_gather_into_tensor`, `all_reduce` or `broadcast` of a tensor for `all_gather_object`, `gather_object` and `broadcast_object_list`, and tensors in shared memory between processes; where objects are needed, keep them small and exchange them less often, in another thread.",
        ..CODE
    },
    Rule {
        key: "logging",
        when: "logging or progress output takes time while the GPU is idle",
        applies: |_, observed| observed.is(Logging),
        issue: "The CPU writes logs or progress in {place}{by}: the GPU is idle for {time}.",
        model: "log every N steps and from another thread (`logging.handlers.QueueHandler`), at a level that omits what nobody reads.",
        ..CODE
    },
    Rule {
        key: "checkpointing",
        when: "a checkpoint is written or read while the GPU is idle",
        applies: |_, observed| observed.is(Checkpointing),
        issue: "The CPU writes or reads a checkpoint in {place}{by}: the GPU is idle for {time}.",
        model: "copy to pinned memory and write in the background (`torch.distributed.checkpoint.async_save`), and less often.",
        ..CODE
    },
    Rule {
        key: "file_access",
        when: "files are read or written while the GPU is idle",
        applies: |_, observed| observed.is(FileAccess),
        issue: "The CPU reads or writes files in {place}{by}: the GPU is idle for {time}.",
        model: "read ahead in another thread or in `DataLoader` workers, fewer and larger files, from a local disk.",
        ..CODE
    },
    Rule {
        key: "cpu_function",
        when: "a library factorizes matrices, and the CPU is in it for long before it launches",
        applies: |_, observed| observed.activity().is_none() && observed.is_factorization(),
        issue: "The CPU works inside the library that {place}{by} calls before it launches again: the GPU is idle for {time}.",
        model: "call `{function}` less often, and on several matrices of one size at once (a batch); compare the libraries that can do it (`torch.backends.cuda.preferred_linalg_library`), and compute small matrices on the CPU.",
        ..CODE
    },
    Rule {
        key: "cpu_function",
        when: "an optimizer steps on the CPU while the GPU is idle",
        applies: |_, observed| observed.step == Some(StepCode::CpuOptimizer),
        issue: "The optimizer updates parameters on the CPU, in {place}: the GPU is idle for {time}.",
        model: "keep optimizer states on the GPU (sharded over the ranks, or in 8 bits, if memory is short); if they have to stay on the CPU, overlap the step with the computation of the next one, and give it more threads (`OMP_NUM_THREADS`).",
        ..CODE
    },
    Rule {
        key: "cpu_function",
        when: "the optimizer keeps the CPU from launching for long",
        applies: |_, observed| matches!(observed.step, Some(StepCode::Optimizer { .. })),
        issue: "The CPU works in {place}, of the optimizer, before it launches again: the GPU is idle for {time}.",
        model: "{zero?set gradients to `None` instead of zero, which launches nothing: `zero_grad(set_to_none=True)`|{fused?|construct the optimizer with `fused=True`, or `foreach=True`, where it has that option: one kernel then updates many parameters; }have fewer parameter groups, and compile the step of the optimizer (`torch.compile`), so that its Python code does not run in each step}.",
        words: |group| {
            let (is_fused, sets_to_zero) = match group.first().step {
                Some(StepCode::Optimizer {
                    is_fused,
                    sets_to_zero,
                }) => (is_fused, sets_to_zero),
                _ => (false, false),
            };
            vec![holds("fused", is_fused), holds("zero", sets_to_zero)]
        },
        ..CODE
    },
    Rule {
        key: "cpu_function",
        when: "a function that launches no kernels computes with operators on the CPU",
        applies: |_, observed| observed.step == Some(StepCode::CpuOperators),
        issue: "The CPU computes in {place}{by} ({operators} of a call) before it launches again: the GPU is idle for {time}.",
        model: "keep the tensors of `{function}` on the GPU, and compute there: these operators have GPU kernels; copy only the results that the CPU needs, or let another thread do this work while the GPU computes.",
        kernel: "a fused kernel for these steps (top-k, softmax and sampling in one) takes little time on the GPU.",
        words: |group| {
            const NAMED: usize = 3;
            let (profile, observed) = (group.input.profile, group.first());
            let operators = cpu_operators(profile, observed.event())
                .into_iter()
                .take(NAMED);
            let operators = operators.map(|(name, ns)| {
                format!(
                    "`{}` {}",
                    profile.trace.strings.get(name),
                    format::time_ns(ns)
                )
            });
            vec![(
                "operators",
                format::listed(&operators.collect::<Vec<String>>()),
            )]
        },
        ..CODE
    },
    Rule {
        key: "cpu_function",
        when: "the CPU is in one operator for long before it launches",
        applies: |_, observed| observed.step == Some(StepCode::Operator),
        issue: "The CPU works in {place}{by} before it launches again: the GPU is idle for {time}.",
        model: "see with a sampling profiler what `{function}` does on the CPU before it launches (allocation, a search for the fastest kernel, threads that share its cores), call it less often on more data, or compile the code around it (`torch.compile`).",
        ..CODE
    },
    Rule {
        key: "cpu_function",
        when: "the CPU is for long in one function that launches kernels",
        applies: |_, observed| observed.step == Some(StepCode::Function),
        issue: "The CPU works in {place}{by}, which launches kernels too, before it launches again: the GPU is idle for {time}.",
        model: "profile `{function}` line by line: move what no kernel of the step needs (checks, bookkeeping, preparation of the next step) out of it or into another thread, keep results that do not change, and compile it (`torch.compile`), so that its Python code does not run in each step.",
        ..CODE
    },
    Rule {
        key: "cpu_function",
        when: "one function that launches nothing keeps the CPU from launching for long",
        issue: "The CPU works in {place}{by} before it launches again: the GPU is idle for {time}.",
        model: "take `{function}` out of the loop: do its work once, ahead of time in another thread or process, or on the GPU, and let the CPU run ahead of the GPU.",
        ..CODE
    },
];

const DYNAMIC_SHAPE: Rule<ObservedCode> = Rule {
    key: "dynamic_shape",
    when: "the CPU waits for a size that depends on values",
    issue: "The size of a result depends on values, so the CPU waits for the GPU in {place}{by}: the GPU is idle for {time}.",
    model: "give sizes that do not depend on values: `torch.where` instead of boolean indexing, `torch.nonzero_static(size=…)`, `repeat_interleave(output_size=…)`, padding to a fixed number with a mask.",
    kernel: "a kernel that reads the number of elements from GPU memory makes the wait unnecessary.",
    ..CODE
};

const CODE: Rule<ObservedCode> = Rule {
    title: "{part} of idle time: {place}",
    kernel: "nothing to gain in a kernel.",
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
};
