//! The rules for what the CPU spends its time on, where no GPU activity was recorded.

use super::observed::Observed;
use super::split::Part;
use crate::findings::prelude::*;
use crate::names::cpu_activity::CpuActivity::*;

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        key: "cpu_data_loading",
        when: "only the CPU was recorded, and the thread that computes loads data, or waits for it",
        applies: |_, observed| observed.is(DataLoading),
        title: "{part}: data loading",
        issue: "The thread that computes {workers?waits for|loads} data in {place}: {time}{inside}.",
        model: "{workers?give the `DataLoader` more workers (`num_workers`) and a larger `prefetch_factor`, and keep them alive (`persistent_workers=True`)|load in worker processes while the model computes: `DataLoader(num_workers=4, persistent_workers=True, prefetch_factor=4)`}; do what is the same in each epoch once ahead of time.",
        ..PART
    },
    Rule {
        key: "cpu_preprocessing",
        when: "only the CPU was recorded, and it preprocesses images, audio or video, or tokenizes text",
        applies: |_, observed| observed.is(Preprocessing) || observed.is(Tokenization),
        issue: "The thread that computes prepares inputs in {place}: {time}{inside}.",
        model: "prepare the next batch in another process while the model computes (`DataLoader` workers), many items in one call, or once ahead of time.",
        ..PART
    },
    Rule {
        key: "cpu_recompilation",
        when: "only the CPU was recorded, and code is compiled after the first step",
        applies: |_, observed| observed.is(Compilation) && observed.split.recompiling_ns > 0,
        title: "{part}: compilation after the first step",
        issue: "Code is compiled again in {place}: {time}, {again} of it after the first step.",
        model: "see what is compiled again, and why (`TORCH_LOGS=recompiles`): mark sizes that change (`torch._dynamo.mark_dynamic`, `torch.compile(dynamic=True)`), pad to a few sizes, and keep Python values that change in each step out of compiled code.",
        ..PART
    },
    Rule {
        key: "cpu_warm_up",
        when: "only the CPU was recorded, and code is compiled or modules are imported once",
        applies: |_, observed| observed.is(Compilation) || observed.is(Imports),
        issue: "Code is compiled or imported in {place}: {time}. A longer run has it once.",
        model: "record after a warm-up: `torch.profiler.schedule(wait=1, warmup=2, active=3)`.",
        saves: Saves::Nothing,
        effect: Effect::FirstStep,
        ..PART
    },
    Rule {
        key: "cpu_checkpointing",
        when: "only the CPU was recorded, and a checkpoint is written or read",
        applies: |_, observed| observed.is(Checkpointing),
        issue: "A checkpoint is written or read in {place}: {time}{inside}.",
        model: "write in the background (`torch.distributed.checkpoint.async_save`, or a thread that has its own copy), and less often.",
        ..PART
    },
    Rule {
        key: "cpu_environment_steps",
        when: "only the CPU was recorded, and an environment of reinforcement learning takes steps",
        applies: |_, observed| observed.is(Environment),
        issue: "Simulated environments take steps in {place}: {time}{inside}.",
        model: "step many environments at once in other processes (`gymnasium.vector.AsyncVectorEnv`), so that one call of the policy serves them all, and collect the next rollout while the model trains on the last one.",
        ..PART
    },
    Rule {
        key: "cpu_waiting",
        when: "only the CPU was recorded, and the thread waits for another thread or process",
        applies: |_, observed| observed.is(Waiting),
        issue: "The thread waits for another thread or process in {place}: {time}{inside}.",
        model: "look at what it waits for (a lock, a queue that is filled too slowly, another rank), and let it have the next piece of work before this one is done.",
        ..PART
    },
    Rule {
        key: "cpu_overhead",
        when: "only the CPU was recorded, and it logs, collects garbage, pickles, accesses files, inspects functions or checks guards",
        issue: "Work beside the computation, in {place}: {time}{inside}.",
        applies: |_, observed| matches!(observed.part, Part::Activity(_)),
        model: "do it every N steps instead of in each, or in another thread.",
        ..PART
    },
    Rule {
        key: "cpu_optimizer",
        when: "only the CPU was recorded, and Adam or AdamW updates parameters in several operators",
        applies: |_, observed| observed.is_unfused_step(),
        title: "{part}: step of the optimizer",
        issue: "The step of the optimizer ({optimizer}) reads and writes parameters and states in several operators, one after another: {time}.",
        model: "construct it with `fused=True`, which the CPU supports, too: one operator then updates each parameter in a single pass over 7 values instead of 18.",
        saves: Saves::Evidence,
        ..PART
    },
    Rule {
        key: "cpu_fp64",
        when: "only the CPU was recorded, and operators compute in FP64",
        applies: |_, observed| observed.is_double(),
        title: "{part}: operators in FP64",
        issue: "Operators compute on FP64 tensors, most in {place}: {time}.",
        model: "compute in FP32, which moves half of the bytes and computes twice as many values in an instruction: NumPy arrays are FP64 unless they are created otherwise (`dtype=np.float32`, `.float()`), and so are tensors made from them.",
        ..PART
    },
    Rule {
        key: "cpu_math_attention",
        when: "only the CPU was recorded, and attention computes all scores",
        applies: |_, observed| observed.is_math_attention(),
        title: "{part}: attention that computes all scores",
        issue: "`scaled_dot_product_attention` multiplies, scales and normalizes all scores in operators of their own, in {place}: {time}.",
        model: "let it use its fused implementation, which the CPU has as well: no `sdpa_kernel(SDPBackend.MATH)`, no dropout, and a mask that requires no gradient.",
        ..PART
    },
    Rule {
        key: "cpu_small_operators",
        when: "only the CPU was recorded, and a function calls many short operators with as much Python between them",
        applies: |_, observed| observed.calls_short_operators(),
        title: "{part}: many short operators in {place}",
        issue: "{place} calls {operators}, {mean} each, with {python} of Python between them: {time}.",
        model: "do more in each call: one operator over all time steps or items instead of a loop (`torch.nn.LSTM` instead of `LSTMCell`, a batched `matmul`, `torch.func.vmap`), a larger batch, or compile the function (`torch.compile`), which fuses operators and runs no Python between them.",
        ..PART
    },
    Rule {
        key: "cpu_function",
        when: "only the CPU was recorded, and a function of the program takes long outside of operators",
        applies: |_, observed| matches!(observed.part, Part::Function(_)),
        title: "{part}: Python in {place}",
        issue: "{place} runs Python, and no operators, for {time}{inside}.",
        model: "compute with operators on whole tensors (or NumPy) instead of in Python loops over their elements, keep results that do not change, and move what the next step does not need out of the loop or into another process.",
        ..PART
    },
    Rule {
        key: "cpu_outside",
        when: "only the CPU was recorded, without Python frames, and much of the time is outside of operators",
        title: "{part}: outside of operators",
        issue: "The thread is outside of operators for {time}: in Python, libraries or data loading without a range of its own.",
        model: "record with `with_stack=True`, which shows the functions.",
        saves: Saves::Unknown,
        effect: Effect::FirstStep,
        ..PART
    },
];

const PART: Rule<Observed> = Rule {
    title: "{part}: {what} in {place}",
    kernel: "nothing to gain in a kernel.",
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
};
