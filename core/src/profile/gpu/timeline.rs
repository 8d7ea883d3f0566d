//! How GPU time splits into computation, communication, copies and idle time.
//!
//! Streams overlap. Computation counts whenever a kernel runs; communication and copies count as "exposed" where they
//! run alone, because only that time can be saved by better overlap.

use crate::base::interval::{Interval, difference, length, sum, union};
use crate::names::gpu_activity::{is_communication_name, is_rocm_copy, is_rocm_fill};
use crate::names::{Family, family_of_kernel};
use crate::trace::Category;

/// The class of a piece of GPU activity in the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GpuClass {
    /// Kernels that compute, and fills.
    Computation,
    /// Communication between GPUs, with any library.
    Communication,
    /// Copies.
    Memcpy,
}

impl GpuClass {
    /// The class of GPU activity, from its category and name.
    pub fn of(category: Category, name: &str) -> GpuClass {
        GpuClass::of_family(category, name, family_of_kernel(name))
    }

    /// The same, if the family of the name is already known.
    pub(crate) fn of_family(category: Category, name: &str, family: Family) -> GpuClass {
        if category == Category::GpuMemcpy {
            return GpuClass::Memcpy;
        }
        if category == Category::Kernel {
            // ROCm runs copies and fills as kernels.
            if is_rocm_copy(name) {
                return GpuClass::Memcpy;
            }
            if is_rocm_fill(name) {
                return GpuClass::Computation;
            }
            if family == Family::Communication {
                return GpuClass::Communication;
            }
        }
        if is_communication_name(name) {
            return GpuClass::Communication;
        }
        GpuClass::Computation
    }
}

/// When each class of GPU activity runs, and when it is exposed: all of them are unions.
pub(crate) struct Split {
    pub(crate) computation: Vec<Interval>,
    pub(crate) communication: Vec<Interval>,
    pub(crate) memcpy: Vec<Interval>,
    pub(crate) exposed_comm: Vec<Interval>,
    pub(crate) exposed_memcpy: Vec<Interval>,
}

impl Split {
    pub(crate) fn new(work: impl IntoIterator<Item = (GpuClass, Interval)>) -> Split {
        let mut spans: [Vec<Interval>; 3] = Default::default();
        for (class, span) in work {
            spans[class as usize].push(span);
        }
        let [computation, communication, memcpy] = spans.map(union);
        Split {
            exposed_comm: difference(&communication, &computation),
            exposed_memcpy: difference(&difference(&memcpy, &computation), &communication),
            computation,
            communication,
            memcpy,
        }
    }

    /// From the first start to the last end; `None` for no activity.
    pub(crate) fn timeline(&self) -> Option<GpuTimeline> {
        let all = union([&self.computation[..], &self.communication, &self.memcpy].concat());
        let span = Interval::new(all.first()?.start_ns, all.last()?.end_ns);
        let busy_ns = length(&all);
        Some(GpuTimeline {
            span,
            computation_ns: length(&self.computation),
            exposed_comm_ns: length(&self.exposed_comm),
            exposed_memcpy_ns: length(&self.exposed_memcpy),
            busy_ns,
            idle_ns: span.length() - busy_ns,
            comm_ns: length(&self.communication),
            memcpy_ns: length(&self.memcpy),
        })
    }
}

/// The split of GPU time, all streams and devices of the trace taken together.
///
/// `computation + exposed_comm + exposed_memcpy + idle = total`, and `busy + idle = total`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GpuTimeline {
    /// From the first start to the last end; for a window, the whole window.
    pub span: Interval,
    /// At least one kernel computes.
    pub computation_ns: i64,
    /// Communication while nothing computes.
    pub exposed_comm_ns: i64,
    /// Copies while nothing computes or communicates.
    pub exposed_memcpy_ns: i64,
    /// Anything runs.
    pub busy_ns: i64,
    /// Nothing runs.
    pub idle_ns: i64,
    /// All communication, exposed or not.
    pub comm_ns: i64,
    /// All copies, exposed or not.
    pub memcpy_ns: i64,
}

impl GpuTimeline {
    /// Splits the time of some GPU activity; `None` if there is none.
    pub fn new(work: impl IntoIterator<Item = (GpuClass, Interval)>) -> Option<GpuTimeline> {
        Split::new(work).timeline()
    }

    /// Splits a part of the time that contains the activity.
    pub(crate) fn within(
        range: Interval,
        work: impl IntoIterator<Item = (GpuClass, Interval)>,
    ) -> GpuTimeline {
        let nothing = GpuTimeline {
            span: range,
            ..GpuTimeline::default()
        };
        GpuTimeline::new(work).unwrap_or(nothing).over(range)
    }

    /// The mean of timelines over the same time, such as those of several GPUs; `None` if there are none. Its parts add
    /// up like those of each timeline.
    pub fn mean(timelines: impl IntoIterator<Item = GpuTimeline>) -> Option<GpuTimeline> {
        let timelines: Vec<GpuTimeline> = timelines.into_iter().collect();
        let count = i64::try_from(timelines.len()).ok()?;
        let span = timelines
            .iter()
            .map(|timeline| timeline.span)
            .reduce(Interval::hull)?;
        let of = |part: fn(&GpuTimeline) -> i64| sum(timelines.iter().map(part)) / count;
        let computation_ns = of(|timeline| timeline.computation_ns);
        let exposed_comm_ns = of(|timeline| timeline.exposed_comm_ns);
        let exposed_memcpy_ns = of(|timeline| timeline.exposed_memcpy_ns);
        let busy_ns = sum([computation_ns, exposed_comm_ns, exposed_memcpy_ns]);
        Some(GpuTimeline {
            span,
            computation_ns,
            exposed_comm_ns,
            exposed_memcpy_ns,
            busy_ns,
            idle_ns: span.length() - busy_ns,
            comm_ns: of(|timeline| timeline.comm_ns),
            memcpy_ns: of(|timeline| timeline.memcpy_ns),
        })
    }

    /// The same activity over a longer span; the additional time is idle.
    pub fn over(self, span: Interval) -> GpuTimeline {
        let span = span.hull(self.span);
        GpuTimeline {
            span,
            idle_ns: span.length() - self.busy_ns,
            ..self
        }
    }

    /// Length of the span.
    pub fn total_ns(&self) -> i64 {
        self.span.length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Category::{GpuMemcpy, GpuMemset, Kernel};
    use GpuClass::{Communication, Computation, Memcpy};

    #[test]
    fn classes_follow_what_was_recorded_and_then_the_name() {
        #[rustfmt::skip]
        let cases = [
            (GpuMemcpy, "Memcpy HtoD (Pageable -> Device)", Memcpy),
            (GpuMemcpy, "nccl_copy", Memcpy),
            (GpuMemcpy, "__amd_rocclr_copyBuffer", Memcpy),
            (GpuMemset, "__amd_rocclr_copyBuffer", Computation),
            (GpuMemset, "Memset (Device)", Computation),
            (Kernel, "triton_poi_fused_all_reduce_0", Computation),
            (Kernel, "ampere_sgemm_128x64_nn", Computation),
            (Kernel, "MEMORY_COPY_HOST_TO_DEVICE", Memcpy),
            (Kernel, "MEMORY_COPY_DEVICE_TO_DEVICE.kd", Memcpy),
            (Kernel, "MEMORY_COPY_HOST_TO_HOST", Computation),
            (Kernel, "__amd_rocclr_copyBuffer", Memcpy),
            (Kernel, "__amd_rocclr_copyBufferRectAligned.kd", Memcpy),
            (Kernel, "__amd_rocclr_copyBufferExt", Computation),
            (Kernel, "my__amd_rocclr_copyBuffer", Computation),
            (Kernel, "__amd_rocclr_fillBufferAligned.kd", Computation),
            (Kernel, "multimem_all_gather_kernel", Communication),
            (Kernel, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", Communication),
            (Kernel, "void RCCL_kernel()", Communication),
            (Kernel, "sglang::Cross_Device_Reduce_1stage<bf16>", Communication),
            (Kernel, "oneccl_allreduce_large<sycl::half>", Communication),
            (Kernel, "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)", Communication),
            (Kernel, "nvshmemi_barrier_kernel", Communication),
            (Kernel, "multimem_all_reduce_kernel<c10::BFloat16, 16>", Communication),
            (Kernel, "one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>", Communication),
            (Kernel, "mori::moe::EpDispatchInterNodeKernel<float>", Communication),
        ];
        for (category, name, class) in cases {
            assert_eq!(GpuClass::of(category, name), class, "{name}");
        }
    }

    /// ```text
    /// ns          0    10   20   30   40   50   60   70
    /// computation      [=========)         [====)
    /// communication         [=========)
    /// copies      [====)              [=========)
    /// ```
    #[test]
    fn every_part_can_be_read_off_the_drawing() {
        let span = Interval::new;
        let timeline = GpuTimeline::new([
            (Computation, span(10, 30)),
            (Communication, span(20, 40)),
            (Memcpy, span(0, 10)),
            (Computation, span(50, 60)),
            (Memcpy, span(41, 60)),
        ])
        .unwrap();
        assert_eq!(
            timeline,
            GpuTimeline {
                span: span(0, 60),
                computation_ns: 30,
                exposed_comm_ns: 10,
                exposed_memcpy_ns: 19,
                busy_ns: 59,
                idle_ns: 1,
                comm_ns: 20,
                memcpy_ns: 29,
            }
        );
        assert_eq!(timeline.total_ns(), 60);
        let longer = timeline.over(span(-5, 70));
        assert_eq!((longer.total_ns(), longer.idle_ns), (75, 16));
        assert_eq!(longer.busy_ns, timeline.busy_ns);
        assert_eq!(GpuTimeline::new([]), None);
        // Averaged with a GPU that only computes, for 21 ns of the time.
        let other = GpuTimeline::new([(Computation, span(0, 21))]).unwrap();
        assert_eq!(
            GpuTimeline::mean([timeline, other.over(span(0, 60))]),
            Some(GpuTimeline {
                span: span(0, 60),
                computation_ns: 25,
                exposed_comm_ns: 5,
                exposed_memcpy_ns: 9,
                busy_ns: 39,
                idle_ns: 21,
                comm_ns: 10,
                memcpy_ns: 14,
            })
        );
        assert_eq!(GpuTimeline::mean([]), None);
    }
}
