import NetworkingCore

/// A record as the unified log takes it, whose messages have to be literals: four arguments, the first and the third
/// for everybody.
struct UnifiedLogMessage: Hashable {
    /// For everybody.
    private(set) var opening = ""
    /// Not for everybody.
    private(set) var values = ""
    /// For everybody.
    private(set) var outcome = ""
    /// Not for everybody.
    private(set) var details = ""
    /// Whether what is not for everybody is sensitive and not only private: the strictest segment decides.
    private(set) var isSensitive = false

    init(_ record: LogRecord) {
        for segment in record.segments where !segment.text.isEmpty {
            append(segment)
        }
    }

    /// Puts a segment where it keeps its place in the text; what comes later than there is room for is not for
    /// everybody.
    private mutating func append(_ segment: LogRecord.Segment) {
        let hasOutcome = !outcome.isEmpty
        let hasValues = !values.isEmpty
        switch (segment.privacy, details.isEmpty) {
        case (.public, true) where !hasValues: opening += segment.text
        case (.public, true): outcome += segment.text
        case (_, true) where !hasOutcome: values += segment.text
        default: details += segment.text
        }
        isSensitive = isSensitive || segment.privacy == .sensitive
    }
}
