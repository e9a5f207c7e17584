import NetworkingCore

/// The visibility of bodies, and of the values of query items and header fields, in a log.
///
/// Method, scheme, host, path, status, sizes and times are always public. Secrets that a ``Redaction`` or
/// ``HTTPRequestData/markSecret(_:)`` covers are always redacted.
@nonexhaustive
public enum LogPrivacy: String, Sendable, Hashable, CaseIterable {
    /// Values are visible in text, and private arguments in the unified log, which shows them only to a debugger.
    case auto
    /// Values are visible everywhere, also in the unified log on other people's devices.
    case `public`
    /// Values are `<private>` in text, and private arguments in the unified log.
    case `private`
    /// Values are `<redacted>` in text, and sensitive arguments in the unified log, which redacts them even where it
    /// shows private ones.
    case sensitive
}

extension LogPrivacy {
    /// The placeholder for a value in text; `nil` to show the value.
    var mask: String? {
        switch self {
        case .auto, .public: nil
        case .private: LogRecord.privateMask
        case .sensitive: Redaction.placeholder
        }
    }

    /// The placeholder for a value in text that a destination treats as public.
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
