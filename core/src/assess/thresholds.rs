//! Every number that a judgment depends on.

use crate::base::labels::labeled;

labeled! {
    /// The unit of a threshold; the label is empty for numbers without a unit.
    pub enum ThresholdUnit {
        /// Microseconds.
        Us => "µs",
        /// Milliseconds.
        Ms => "ms",
        /// Percent.
        Percent => "%",
        /// A count, or a length.
        Count => "",
        /// A ratio.
        Ratio => "×",
        /// Mebibytes.
        MiB => "MiB",
    }
}

/// A threshold by name, for panels and files that show them all.
#[derive(Debug, Clone, Copy)]
pub struct ThresholdInfo {
    /// Its name in files.
    pub key: &'static str,
    /// The group it belongs to: "GEMM", "Idle", …
    pub group: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// The unit of its value.
    pub unit: ThresholdUnit,
    /// Returns its value.
    pub get: fn(&Thresholds) -> f64,
    /// Sets its value.
    pub set: fn(&mut Thresholds, f64),
}

macro_rules! thresholds {
    ($($group:literal { $($key:ident: $unit:ident = $default:literal, $doc:literal;)* })*) => {
        /// The thresholds of all judgments. The report lists those that were changed.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct Thresholds {
            $($(#[doc = $doc] pub $key: f64,)*)*
        }

        impl Default for Thresholds {
            fn default() -> Self {
                Thresholds { $($($key: $default,)*)* }
            }
        }

        impl Thresholds {
            /// All thresholds, in groups.
            pub const ALL: &[ThresholdInfo] = &[
                $($(ThresholdInfo {
                    key: stringify!($key),
                    group: $group,
                    doc: $doc,
                    unit: ThresholdUnit::$unit,
                    get: |thresholds| thresholds.$key,
                    set: |thresholds, value| thresholds.$key = value,
                },)*)*
            ];
        }
    };
}

// To add one, add a line: name, unit, default, meaning.
thresholds! {
    "Overview" {
        headline_idle_percent: Percent = 50.0, "Below this share of busy time, the headline says that the GPU is idle.";
        headline_exposed_percent: Percent = 5.0, "Exposed communication or copies of at least this share of the run, and kernels that tuning tries of at least this share of the busy time, belong in the headline.";
        main_kind_percent: Percent = 75.0, "An operation that runs several kinds of kernels counts as the kind of at least this share of its time, or as none.";
    }
    "Trust" {
        anomaly_percent: Percent = 105.0, "A measurement above this share of the roofline is not plausible: it is shown, never ranked.";
        unlinked_percent: Percent = 1.0, "Unattributed GPU activity is reported as a limit from this share of the GPU time on; below, as a note.";
    }
    "Short kernels" {
        short_kernel_us: Us = 10.0, "Kernels shorter than this are short: launching one takes the CPU about as long.";
        short_kernel_bins: Count = 100.0, "Bins of the histogram of short kernels.";
    }
    "Idle" {
        micro_idle_us: Us = 0.0, "Gaps shorter than this are micro idle time, a row of the timeline of its own; 0 does not split idle time.";
    }
    "Memory copies" {
        copy_critical_percent: Percent = 10.0, "Copies in one direction that take more than this share of the run are critical.";
        copy_high_percent: Percent = 5.0, "Copies in one direction that take more than this share of the run are of high severity, and flagged where they take as much while nothing else runs, or the CPU waits for them.";
        copy_medium_percent: Percent = 2.0, "Copies in one direction that take more than this share of the run are of medium severity; from or to pageable memory while nothing else runs they are flagged, too.";
        copy_low_percent: Percent = 0.5, "Copies in one direction that take more than this share of the run are material.";
        copy_critical_count: Count = 100.0, "More copies than this in one direction are critical by their count alone; time holds that back to one level above its own.";
        copy_high_count: Count = 50.0, "More copies than this in one direction are of high severity by their count.";
        copy_medium_count: Count = 10.0, "More copies than this in one direction are of medium severity by their count, and flagged.";
        copy_low_count: Count = 5.0, "More copies than this in one direction are of low severity by their count.";
    }
    "Communication" {
        comm_critical_percent: Percent = 20.0, "Communication that runs alone for more than this share of the run is critical.";
        comm_high_percent: Percent = 10.0, "Communication that runs alone for more than this share of the run is of high severity.";
        comm_medium_percent: Percent = 5.0, "Communication that runs alone for more than this share of the run is of medium severity, and flagged.";
        comm_low_percent: Percent = 2.0, "Communication that runs alone for more than this share of the run is of low severity; less is acceptable.";
        comm_least_us: Us = 100.0, "Less communication than this is too little to judge how well it overlaps with computation.";
        overlap_critical_percent: Percent = 30.0, "Less overlap of communication with computation than this is critical.";
        overlap_high_percent: Percent = 50.0, "Less overlap of communication with computation than this is of high severity.";
        overlap_target_percent: Percent = 70.0, "Less overlap of communication with computation than this is of medium severity, and flagged.";
    }
    "Idle time" {
        idle_flag_percent: Percent = 15.0, "The GPU is idle for too long above this share of the run; then findings say why.";
        idle_critical_percent: Percent = 70.0, "Idle time of more than this share of the run is critical.";
        idle_high_percent: Percent = 50.0, "Idle time of more than this share of the run is of high severity.";
        idle_medium_percent: Percent = 30.0, "Idle time of more than this share of the run is of medium severity.";
        idle_low_percent: Percent = 20.0, "Idle time of more than this share of the run is of low severity; less is acceptable.";
        idle_target_percent: Percent = 20.0, "The target idle share, which the potential speedup is computed for.";
        idle_code_percent: Percent = 5.0, "A function in which the CPU keeps the GPU idle for more than this share of the run is a finding of its own.";
        idle_launch_latency_us: Us = 20.0, "A launch may take this long to reach the GPU; kernels that start later were queued on the GPU.";
        idle_host_work_us: Us = 500.0, "A thread that launches nothing for longer than this does other CPU work.";
        idle_slow_launch_ms: Ms = 1.0, "A launch that takes longer than this does more than launching: it loads the kernel.";
        idle_short_kernels_percent: Percent = 30.0, "Short kernels are many above this share of all kernels …";
        idle_short_kernels_high_percent: Percent = 50.0, "… and of high severity above this one.";
        idle_kernel_count: Count = 1000.0, "Kernels are many above this number …";
        idle_kernel_count_high: Count = 5000.0, "… and of high severity above this one.";
        idle_mean_kernel_us: Us = 50.0, "Kernels are short on average below this …";
        idle_mean_kernel_high_us: Us = 20.0, "… and of high severity below this.";
    }
    "Priority" {
        critical_percent_of_compute: Percent = 15.0, "A bottleneck with more than this share of the computation time, and less efficient than the next line says, is critical.";
        critical_efficiency_percent: Percent = 30.0, "Below this share of the roofline a large bottleneck is critical.";
        high_percent_of_compute: Percent = 10.0, "A bottleneck with more than this share of the computation time is of high priority.";
        medium_percent_of_compute: Percent = 5.0, "A bottleneck with more than this share of the computation time is of medium priority.";
        gate_percent_of_category: Percent = 5.0, "An operation with more than this share of the time of its kind can be a bottleneck.";
        gate_percent_of_total: Percent = 0.5, "Unless its share of the run is below this: then it is noise.";
        efficiency_excellent_percent: Percent = 80.0, "Above this share of the roofline an efficiency is called excellent …";
        efficiency_good_percent: Percent = 60.0, "… above this one good, below it acceptable, and below the next line in need of investigation.";
        gate_efficiency_percent: Percent = 40.0, "Only an operation below this share of the roofline is a bottleneck.";
        finding_percent_of_total: Percent = 0.5, "Findings whose saving is expected below this share of the run are counted, not shown.";
        variance_ratio: Ratio = 1.0, "Durations vary much where their deviation is more than this times their mean …";
        variance_percent_of_total: Percent = 5.0, "… which is said of operations with at least this share of the run.";
        spread_ratio: Ratio = 3.0, "The calls of an operation spread widely where the slowest takes at least this times the median.";
    }
    "Reproducers" {
        replay_percent_of_compute: Percent = 10.0, "A reproducer is recommended for an operation with more than this share of the computation time …";
        replay_efficiency_percent: Percent = 30.0, "… that reaches less than this share of the roofline.";
    }
    "Small kernels" {
        small_kernels_calls: Count = 1000.0, "At least this many calls of short kernels of a kind are one finding …";
        small_kernels_percent_of_compute: Percent = 5.0, "… and so are a hundred that take more than this share of the computation time.";
    }
    "GEMM" {
        gemm_gate_ms: Ms = 50.0, "A GEMM that takes longer than this can be a bottleneck whatever its share.";
        gemm_tiny_batch: Count = 1000.0, "A batched GEMM of at least this many matrices is tiny batched …";
        gemm_tiny_dim: Count = 64.0, "… when two of M, N and K are at most this.";
        gemm_skinny_ratio: Ratio = 100.0, "A GEMM is tall and skinny when one of M and N is at least this times the other.";
    }
    "Kernel fusion" {
        fusion_max_kernels: Count = 15.0, "A chain of more kernels than this is no single pattern.";
        fusion_percent_of_total: Percent = 2.0, "Chains that take, or would save, a smaller share of the run are no finding.";
        fusion_least_ms: Ms = 0.1, "Nor are those that would save less than this.";
    }
    "Attention" {
        sdpa_gate_ms: Ms = 100.0, "An attention that takes longer than this can be a bottleneck whatever its share.";
        sdpa_short_length: Count = 1024.0, "Sequences shorter than this are expected to be inefficient …";
        sdpa_short_percent: Percent = 8.0, "… and are a bottleneck only below this share of the roofline, where the usual band does not begin lower.";
        sdpa_decode_queries: Count = 16.0, "Attention of at most this many queries to more keys is decoding: it is compared with the memory bandwidth.";
        sdpa_backward_percent: Percent = 75.0, "A backward pass is expected to reach this share of the efficiency of a forward pass of the same length.";
        sdpa_copies_percent: Percent = 5.0, "Copies right before and after attention are worth removing when they take more than this share of its time.";
        sdpa_cache_percent: Percent = 10.0, "Writing keys and values to the cache takes long when it takes more than this share of the attention.";
    }
    "Convolution" {
        conv_gate_ms: Ms = 50.0, "A convolution that takes longer than this can be a bottleneck whatever its share.";
        conv_layout_percent: Percent = 10.0, "Layout changes with more than this share of the time of the convolutions are worth removing.";
        conv_layout_high_percent: Percent = 20.0, "With more than this share they are a high overhead.";
        conv_few_channels: Count = 4.0, "A convolution of at most this many input channels fills no vectors.";
        conv_small_spatial: Count = 196.0, "A result of at most this many positions (14 × 14) leaves little to compute in parallel.";
    }
    "Element-wise" {
        elementwise_gate_ms: Ms = 10.0, "An element-wise operation that takes longer than this can be a bottleneck whatever its share.";
        baseline_us: Us = 10.0, "Simple operations show what bandwidth the memory gives when a call takes at least this long …";
        baseline_mib: MiB = 64.0, "… and moves at least this much.";
        baseline_slow_percent: Percent = 50.0, "When even they reach less than this share of the bandwidth, kernels or launches are at fault.";
        elementwise_slow_percent: Percent = 30.0, "An element-wise operation below this share of the roofline has a slow kernel; above it, fusion is the way.";
    }
    "Normalization" {
        norm_gate_ms: Ms = 10.0, "Norms that take longer than this can be a bottleneck whatever their share.";
        norm_slow_percent: Percent = 20.0, "A norm below this share of the roofline has a slow kernel …";
        norm_baseline_percent: Percent = 70.0, "… when simple element-wise operations reach more than this share of the bandwidth.";
        norm_baseline_ratio: Ratio = 0.5, "A norm is far below the baseline when it moves bytes at less than this times its rate.";
    }
    "Reduction" {
        reduce_gate_ms: Ms = 10.0, "A reduction that takes longer than this can be a bottleneck whatever its share.";
        reduce_ratio: Count = 1024.0, "A reduction with fewer results than the GPU has compute units is called so when each result stands for at least this many elements.";
    }
    "MoE" {
        moe_gate_ms: Ms = 100.0, "An MoE operation that takes longer than this can be a bottleneck whatever its share.";
        moe_routing_percent: Percent = 20.0, "Routing and sorting of tokens are a finding when they take more than this share of the time of the MoE layers.";
    }
    "Triton" {
        triton_gate_ms: Ms = 10.0, "A generated kernel that takes longer than this can be a bottleneck whatever its share.";
        triton_slow_percent: Percent = 30.0, "A generated norm or reduction below this share of the roofline reads its data badly.";
    }
    "Memory" {
        memory_used_percent: Percent = 1.0, "What holds memory, or reserves it, is a finding where the allocator reserves at least this share of the memory of the GPU.";
        memory_unused_percent: Percent = 25.0, "Memory that the allocator holds and nobody uses at the peak is a finding from this share of what it holds …";
        memory_unused_mib: MiB = 512.0, "… and from this size on.";
        memory_calls_percent: Percent = 0.5, "Calls that take memory from the driver or give it back, in steps after the first, are a finding when they take this share of the run, or when an allocation had to be tried again.";
        memory_growth_percent: Percent = 1.0, "Memory in use grows when each step ends with more than this above the one before.";
        memory_holder_percent: Percent = 30.0, "An operator that holds more than this share of the peak is a finding.";
        memory_churn_mib: MiB = 64.0, "Blocks of at least this size …";
        memory_churn_ms: Ms = 1.0, "… that are released within this time …";
        memory_churn_ratio: Ratio = 3.0, "… are churn when an operator allocates more than this times the peak in them.";
    }
    "Steps" {
        step_slow_percent: Percent = 20.0, "A step is slow when it takes this much longer than the median; a step of a serving engine when it takes so much longer than the steps like it, and stands out of how they vary.";
        step_trend_percent: Percent = 2.0, "Steps become slower, or faster, when their time changes by at least this share of its median over the recording, steadily.";
    }
    "Comparison" {
        compare_better_ratio: Ratio = 0.8, "An operation that takes at most this times what the hardware predicts from the reference is better than predicted.";
        compare_explained_ratio: Ratio = 1.25, "Up to this times what the hardware predicts, the hardware explains the difference.";
        compare_unexpected_ratio: Ratio = 2.0, "From this times what the hardware predicts on, a slowdown is unexpected; below, moderately beyond the hardware.";
        compare_kernel_issue_ratio: Ratio = 5.0, "From this times what the hardware predicts on, tiny batched GEMMs very likely have the wrong kernel.";
        compare_twice_ratio: Ratio = 2.0, "A call that takes more than this times as long as on the reference is marked, whatever the hardware predicts.";
        compare_small_us: Us = 10.0, "A call that is shorter than this on both sides is not judged: launching it takes as long.";
        compare_implausible_percent: Percent = 105.0, "Above this share of its own roofline a time is implausible: the work, the time or the figures of the GPU are off.";
        compare_waste_percent: Percent = 50.0, "An operation below this share of its roofline in both traces loses time in both.";
    }
    "Other" {
        other_gate_ms: Ms = 10.0, "Any other operation that takes longer than this can be a bottleneck whatever its share.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_can_be_read_and_changed_by_name() {
        for threshold in Thresholds::ALL {
            let mut changed = Thresholds::default();
            let default = (threshold.get)(&changed);
            (threshold.set)(&mut changed, default + 1.0);
            assert!((threshold.get)(&changed) > default, "{}", threshold.key);
            let others = Thresholds::ALL.iter().filter(|other| {
                ((other.get)(&changed) - (other.get)(&Thresholds::default())).abs() > 0.0
            });
            assert_eq!(others.count(), 1, "{}", threshold.key);
        }
    }
}
