import NetworkingCore

/// A record as a message of the unified log: four arguments, of which the first and the third are public.
///
/// The unified log accepts only literal messages, so their number of arguments is fixed.
struct UnifiedLogMessage: Hashable {
    /// Public text.
    private(set) var opening = ""
    /// Private or sensitive text.
    private(set) var values = ""
    /// Public text.
    private(set) var outcome = ""
    /// Private or sensitive text.
    private(set) var details = ""
    /// Whether the redacted arguments are sensitive and not only private: the strictest segment decides.
    private(set) var isSensitive = false

    init(_ record: LogRecord) {
        for segment in record.segments where !segment.text.isEmpty {
            append(segment)
        }
    }

    /// Appends a segment at its place in the text; public segments after the fourth argument has begun become private.
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
