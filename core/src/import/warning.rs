//! What was wrong with a trace, counted and described in a sentence.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::base::labels::labeled;
use crate::base::sort::Arrange;

/// How much a warning matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know; all numbers are valid.
    Info,
    /// Something was repaired; numbers are valid unless the sentence says otherwise.
    Repaired,
    /// Something is missing from the numbers.
    DataLoss,
}

labeled! {
    /// What can be wrong: what it means and what was done about it, for the user.
    #[non_exhaustive]
    #[derive(Serialize, Deserialize)]
    #[allow(missing_docs, reason = "each has its sentence")]
    pub enum WarningKind {
        CutGzip => "The compressed file or archive ends early, as after an interrupted copy; everything up to the cut was read.",
        CorruptGzip => "The compressed file or archive does not match its checksum, so some of its content may be wrong; copy it again.",
        TrailingGarbage => "The compressed file is followed by other bytes; they were ignored.",
        TrailingText => "The trace is followed by other text, which was ignored.",
        AnotherTrace => "Another trace follows in the same file and was not read; open it by itself.",
        CutJson => "The trace ends before it is closed, as when the program was stopped while writing; everything up to the cut was read.",
        UnreadableEvent => "Damaged events were skipped; the events around them were read.",
        StrayComma => "Extra commas in the JSON were ignored.",
        NotANumber => "NaN or Infinity was found where a number is expected; these values count as unknown.",
        InvalidUtf8 => "Some names are not valid UTF-8; the invalid bytes are shown as \u{FFFD}.",
        ControlCharacter => "Some strings hold raw control characters, such as line breaks; they were kept.",
        BadEscape => "Some strings contain invalid escape sequences, as in Windows paths; the backslashes were kept.",
        UnescapedQuote => "Some names hold quotes that were not escaped; they were read as part of the name.",
        DuplicateKey => "Some events name the same field twice; the last one was used.",
        TextNumber => "Some times are written as text; they were read as numbers.",
        HugeInteger => "Some integers are larger than 64 bits; as ids they were kept, as values they count as unknown.",
        UnreadableMetadata => "Damaged metadata outside the event list was skipped; no event is affected.",
        OtherZipMembers => "The archive holds more files; the first trace in it was read.",
        MissingTime => "Some events have no start time that can be read; they were left out.",
        MissingDuration => "Some events have no duration; their time counts as unknown.",
        NegativeDuration => "Some events have a negative duration; their time counts as unknown.",
        ImpossibleDuration => "Some events claim to last longer than a day; their time counts as unknown.",
        OverlongDuration => "Some GPU activity has an impossible duration: it ends after later activity of its stream has started, or far past the end of the recording; its time counts as unknown.",
        ImpossibleStart => "Some GPU activity has an impossible start time, such as zero or a time before its launch; it was left out.",
        RecordedTwice => "Some GPU activity or calls are recorded twice, with the same name, times, ids and arguments; they count once.",
        OverlappingWork => "Some GPU activity overlaps later activity of its stream, where one piece runs after the other. Busy time counts it once, sums over operations and kernels twice.",
        PacketsLost => "The program that recorded the trace says that it lost packets; events are missing where it did.",
        ZstdPackets => "Some packets are compressed with zstd, which is not read here; what they hold is missing. Write the trace without that compression.",
        OtherDevices => "The trace holds devices that are not read here, such as TPUs; what they did is missing.",
        CutKernels => "Some GPU activity ends just when the next on its stream starts. PyTorch's Perfetto export cuts it there where it overlaps the next; the JSON keeps it whole, so sums can be larger there.",
        MovedTimes => "Some GPU activity ends just when the next on its stream starts. rocprofv3's Perfetto output moves starts and ends of overlapping dispatches to the middle of the overlap; its JSON output keeps them.",
        UnknownMetadata => "Some metadata events have names that Dormer does not know; they were ignored.",
        UnknownPhase => "Some events are of a kind that carries no time in a PyTorch trace; they were ignored.",
        UnknownCategory => "Some events have no category, or one that Dormer does not know; they are in no total.",
        UnreadableArguments => "The shapes, types or values of some operators are not in the profiler's format, so the FLOPs and bytes of these calls are unknown.",
        UnreadableMemory => "Some reports of the memory allocator could not be read, so the memory of that device is shown by its totals only.",
        ShapesOfExecutionTrace => "The shapes and types of some operators are those of the execution trace of the same run; the profiler recorded none.",
        TooManyEvents => "The trace has more events than fit; the rest was left out. Record fewer steps to see all.",
        LargeMetadata => "Large metadata entries outside the event list were dropped.",
        WrongNesting => "Some calls end after their caller; they were left out of the call tree.",
        UnlinkedGpuWork => "Some GPU activity has no recorded launching call.",
        UnrecordedKernels => "Some kernels were launched while others were recorded, and are not in the trace: their time counts as idle, and communication beside them as exposed.",
        NothingLinked => "None of the GPU activity could be matched with the CPU call that launched it, so all of it is counted and none of it belongs to an operator.",
        LinkedByCorrelation => "Some GPU activity has no flow event from the call that launched it; correlation ids, or external ids where there are none, were used instead.",
        LinkedToOperators => "No call that launched GPU activity was recorded; it was assigned to the operators with its external ids.",
        AmbiguousCorrelation => "The trace holds several processes that use the same correlation ids, and some GPU activity has no flow event that identifies its process, so it was not linked. Open the trace of one rank alone to see it by operator.",
        RepeatedCorrelation => "Some correlation ids are shared by several calls, so their GPU activity could not be linked to the call that launched it.",
        RepeatedCall => "Some calls repeat the correlation id of an earlier call; the GPU activity with that id was linked to the earlier one. GPU activity whose id no call has counts as unattributed.",
        ClocksShifted => "The clocks of the CPU and the GPU differ by a constant offset; GPU times were shifted to follow the calls that launched them.",
        ClocksDiffer => "The clocks of the CPU and the GPU do not agree, so the causes of GPU idle time are not reported.",
        UntoldGpuTime => "Some GPU activity has an invalid duration, so its busy time is unknown; that time counts as idle.",
        NoHostEvents => "No PyTorch operators were recorded, so GPU time is shown by kernel only. Record with ProfilerActivity.CPU to see operators.",
        FormatWithoutOperators => "This format holds GPU activity without operators, so operations have no shapes, FLOPs or efficiency.",
        NoGpuEvents => "No GPU activity was recorded; only the CPU side is shown. Record with ProfilerActivity.CUDA, or ProfilerActivity.XPU for Intel GPUs, to see the GPU.",
        GpuEventsLost => "No GPU activity could be read; it may be among the events that were lost or are of no known category.",
        NothingRecorded => "Neither GPU activity nor PyTorch operators were recorded, so there is nothing to show. Record with ProfilerActivity.CPU, and with ProfilerActivity.CUDA or XPU for the GPU.",
        EmptyWindow => "No GPU activity starts in the part of the time that is analyzed. Choose a longer one, or the whole trace.",
    }
}

impl WarningKind {
    /// How much it matters.
    pub fn severity(self) -> Severity {
        use WarningKind::*;
        match self {
            LargeMetadata
            | UnknownMetadata
            | UnknownPhase
            | LinkedByCorrelation
            | LinkedToOperators
            | NoHostEvents
            | NoGpuEvents
            | NothingRecorded
            | EmptyWindow
            | ShapesOfExecutionTrace
            | TrailingGarbage
            | TrailingText
            | OtherZipMembers
            | CutKernels
            | MovedTimes
            | FormatWithoutOperators => Severity::Info,
            StrayComma | NotANumber | InvalidUtf8 | ControlCharacter | BadEscape
            | UnescapedQuote | DuplicateKey | TextNumber | HugeInteger | UnreadableMetadata
            | RecordedTwice | OverlappingWork | RepeatedCall | ClocksShifted => Severity::Repaired,
            CutGzip | CorruptGzip | AnotherTrace | CutJson | UnreadableEvent | MissingTime
            | MissingDuration | NegativeDuration | ImpossibleDuration | OverlongDuration
            | ImpossibleStart | UnreadableArguments | UnreadableMemory | UnknownCategory
            | TooManyEvents | WrongNesting | UnlinkedGpuWork | UnrecordedKernels
            | NothingLinked | AmbiguousCorrelation | RepeatedCorrelation | ClocksDiffer
            | UntoldGpuTime | GpuEventsLost | PacketsLost | ZstdPackets | OtherDevices => {
                Severity::DataLoss
            }
        }
    }
}

/// One kind of problem: how often it occurred, and where first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What was wrong.
    pub kind: WarningKind,
    /// How often.
    pub count: u64,
    /// Offset of the first occurrence in the decompressed text, if it has one.
    pub first_offset: Option<u64>,
    /// What is affected, as a sentence; empty for most kinds.
    pub detail: String,
}

impl Warning {
    /// Whether a part of the trace is missing.
    pub(crate) fn loses_data(&self) -> bool {
        self.kind.severity() == Severity::DataLoss
    }

    /// What it means, what was done, and what is affected, for the user.
    pub fn sentence(&self) -> Cow<'static, str> {
        let sentence = self.kind.label();
        match self.detail.as_str() {
            "" => Cow::Borrowed(sentence),
            detail => Cow::Owned(format!("{sentence} {detail}")),
        }
    }
}

/// Counts of everything that was wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warnings {
    /// One entry for each kind that occurred, worst first, then in the order of [`WarningKind`].
    entries: Vec<Warning>,
}

impl Warnings {
    /// Counts one occurrence.
    pub fn add(&mut self, kind: WarningKind, offset: Option<u64>) {
        self.add_many(kind, 1, offset);
    }

    /// Counts several occurrences; does nothing if `count` is 0.
    pub(crate) fn add_many(&mut self, kind: WarningKind, count: u64, offset: Option<u64>) {
        self.add_with(kind, count, offset, String::new());
    }

    /// Counts several occurrences with a detail; the first detail is kept.
    pub(crate) fn add_with(
        &mut self,
        kind: WarningKind,
        count: u64,
        offset: Option<u64>,
        detail: String,
    ) {
        if count == 0 {
            return;
        }
        if let Some(warning) = self.entries.iter_mut().find(|warning| warning.kind == kind) {
            warning.count += count;
            warning.first_offset = match (warning.first_offset, offset) {
                (Some(first), Some(offset)) => Some(first.min(offset)),
                (first, offset) => first.or(offset),
            };
            if warning.detail.is_empty() {
                warning.detail = detail;
            }
            return;
        }
        self.entries.push(Warning {
            kind,
            count,
            first_offset: offset,
            detail,
        });
        self.entries
            .arrange_by_key(|warning| (std::cmp::Reverse(warning.kind.severity()), warning.kind));
    }

    /// Adds the counts of another stage.
    pub fn extend(&mut self, other: &Warnings) {
        for warning in &other.entries {
            let detail = warning.detail.clone();
            self.add_with(warning.kind, warning.count, warning.first_offset, detail);
        }
    }

    /// The same without details, which can contain names from the trace.
    pub(crate) fn without_details(&self) -> Warnings {
        let mut plain = self.clone();
        for warning in &mut plain.entries {
            warning.detail.clear();
        }
        plain
    }

    /// How often a kind occurred.
    pub fn count(&self, kind: WarningKind) -> u64 {
        self.get(kind).map_or(0, |warning| warning.count)
    }

    /// The entry of a kind.
    pub fn get(&self, kind: WarningKind) -> Option<&Warning> {
        self.entries.iter().find(|warning| warning.kind == kind)
    }

    /// Everything that occurred, worst first.
    pub fn iter(&self) -> impl Iterator<Item = &Warning> {
        self.entries.iter()
    }

    /// True when nothing was wrong.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
