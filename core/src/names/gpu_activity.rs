//! Communication, copies and fills among GPU activity, by name.

/// True for names that the reference treats as collectives: NCCL, RCCL and the all-reduce of vLLM and SGLang. Its
/// sheets exclude these from every operator.
pub(crate) fn is_communication_name(name: &str) -> bool {
    const PARTS: [&[u8]; 3] = [b"nccl", b"rccl", b"cross_device_reduce"];
    let name = name.as_bytes();
    (0..name.len()).any(|at| {
        // The first letter rules out nearly every position.
        matches!(name[at] | 0x20, b'n' | b'r' | b'c')
            && PARTS.iter().any(|part| {
                name.get(at..at + part.len())
                    .is_some_and(|found| found.eq_ignore_ascii_case(part))
            })
    })
}

/// `MEMORY_COPY_HOST_TO_DEVICE`, `__amd_rocclr_copyBufferRectAligned.kd` and the like.
pub(crate) fn is_rocm_copy(name: &str) -> bool {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    if let Some(direction) = name.strip_prefix("MEMORY_COPY_") {
        return matches!(
            direction,
            "HOST_TO_DEVICE" | "DEVICE_TO_HOST" | "DEVICE_TO_DEVICE"
        );
    }
    name.strip_prefix("__amd_rocclr_copyBuffer")
        .is_some_and(|rest| matches!(rest, "" | "Rect" | "Aligned" | "RectAligned"))
}

/// `__amd_rocclr_fillBufferAligned` and the like.
pub(crate) fn is_rocm_fill(name: &str) -> bool {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    name.strip_prefix("__amd_rocclr_fillBuffer")
        .is_some_and(|rest| matches!(rest, "" | "Aligned"))
}
