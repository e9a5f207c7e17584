import NetworkingCore

/// Who may read the values that a log shows: those of query items and header fields, and bodies.
///
/// Method, scheme, host, path, status, sizes and times are for everybody at any of them, and what a ``Redaction`` or
/// ``HTTPRequestData/markSecret(_:)`` hides is for nobody.
@nonexhaustive
public enum LogPrivacy: String, Sendable, Hashable, CaseIterable {
    /// Shown in text; private arguments in the unified log, which shows them to a debugger alone.
    case auto
    /// Shown everywhere, in the unified log of other people's devices too.
    case `public`
    /// `<private>` in text; private arguments in the unified log.
    case `private`
    /// `<redacted>` in text; sensitive arguments in the unified log, which hides them even where private ones show.
    case sensitive
}

extension LogPrivacy {
    /// What stands for a value in text; nil for the value itself.
    var mask: String? {
        switch self {
        case .auto, .public: nil
        case .private: LogRecord.privateMask
        case .sensitive: Redaction.placeholder
        }
    }

    /// The same where text goes that a record's destination takes to be for everybody.
    var publicMask: String? {
        self == .auto ? LogRecord.privateMask : mask
    }

    var segmentPrivacy: LogRecord.Privacy {
        switch self {
        case .public: .public
        case .auto, .private: .private
        case .sensitive: .sensitive
        }
    }
}
