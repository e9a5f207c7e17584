import NetworkingCore

/// The trace of a request, and the step within it: the value of a `traceparent` field (W3C Trace Context, Level 2).
///
/// ```swift
/// let parent = TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
/// print(parent?.traceID ?? "none", parent?.isSampled ?? false)
/// ```
public struct TraceParent: Sendable, Hashable {
    /// The id that all requests of a trace share: 16 bytes, not all of them zero.
    public struct TraceID: Sendable, Hashable {
        let high: UInt64
        let low: UInt64

        /// Creates an id from its halves; `nil` if both are zero, which is invalid.
        ///
        /// - Parameters:
        ///   - high: The first 8 bytes.
        ///   - low: The last 8 bytes.
        public init?(high: UInt64, low: UInt64) {
            guard high != 0 || low != 0 else { return nil }
            (self.high, self.low) = (high, low)
        }
    }

    /// The id of a step in a trace, assigned by its sender: 8 bytes, not all of them zero.
    public struct ParentID: Sendable, Hashable {
        let bytes: UInt64

        /// Creates an id from its bytes; `nil` if they are zero, which is invalid.
        ///
        /// - Parameter bytes: The 8 bytes.
        public init?(bytes: UInt64) {
            guard bytes != 0 else { return nil }
            self.bytes = bytes
        }
    }

    /// The flags of a trace.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The bits; bits that version 00 does not define are always zero.
        public let rawValue: UInt8

        /// Creates flags from their bits, and keeps only the bits that version 00 defines.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt8) {
            // Unknown flags must be propagated as zero.
            self.rawValue = rawValue & 0b11
        }

        /// A system records this trace.
        public static let sampled = Flags(rawValue: 1)
        /// At least the last 7 bytes of the trace's id are random, so that other systems can base sampling decisions on
        /// them.
        public static let randomTraceID = Flags(rawValue: 2)
    }

    /// The id of the trace.
    public var traceID: TraceID
    /// The id of the step in the trace.
    public var parentID: ParentID
    /// The flags of the trace.
    public var flags: Flags

    /// Creates a value from its parts.
    ///
    /// - Parameters:
    ///   - traceID: The id of the trace.
    ///   - parentID: The id of the step in the trace.
    ///   - flags: The flags of the trace.
    public init(traceID: TraceID, parentID: ParentID, flags: Flags = []) {
        self.traceID = traceID
        self.parentID = parentID
        self.flags = flags
    }

    /// Whether a system records this trace.
    public var isSampled: Bool {
        flags.contains(.sampled)
    }
}

extension TraceParent: LosslessStringConvertible {
    /// Reads the value of a `traceparent` field; `nil` if it is invalid.
    ///
    /// If the value has a later version, only the parts of version 00 are read, and further parts are ignored.
    ///
    /// - Parameter text: The value, without surrounding white space.
    public init?(_ text: String) {
        var text = text
        let parts = text.withUTF8 { bytes -> (TraceID, ParentID, Flags)? in
            guard bytes.count >= 55, bytes[2] == .dash, bytes[35] == .dash, bytes[52] == .dash,
                let version = UInt64(hex: bytes[0..<2]), version != 0xff,
                bytes.count == 55 || version > 0 && bytes[55] == .dash,
                let high = UInt64(hex: bytes[3..<19]), let low = UInt64(hex: bytes[19..<35]),
                let parent = UInt64(hex: bytes[36..<52]), let flags = UInt64(hex: bytes[53..<55]),
                let traceID = TraceID(high: high, low: low), let parentID = ParentID(bytes: parent)
            else { return nil }
            return (traceID, parentID, Flags(rawValue: UInt8(flags)))
        }
        guard let (traceID, parentID, flags) = parts else { return nil }
        self.init(traceID: traceID, parentID: parentID, flags: flags)
    }

    /// The value in the format of a `traceparent` field of version 00.
    public var description: String {
        "00-\(traceID)-\(parentID)-\(flags.rawValue.hexadecimal)"
    }
}

extension TraceParent.TraceID: LosslessStringConvertible {
    /// Reads an id; `nil` unless it is 32 hexadecimal digits in lower case, not all of them zero.
    ///
    /// - Parameter text: The digits.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 32, let high = UInt64(hex: bytes[..<16]), let low = UInt64(hex: bytes[16...]) else {
            return nil
        }
        self.init(high: high, low: low)
    }

    /// The 32 digits.
    public var description: String {
        high.hexadecimal + low.hexadecimal
    }

    /// Creates a random id.
    static func random(_ source: SecureRandomSource) -> Self {
        // A random source for tests may return only zeros, and a loop until a valid id would never end.
        let bytes = source.bytes(16)
        return Self(high: UInt64(bytes: bytes.prefix(8)), low: UInt64(bytes: bytes.dropFirst(8))) ?? Self(
            high: 0,
            low: 1
        )!
    }
}

extension TraceParent.ParentID: LosslessStringConvertible {
    /// Reads an id; `nil` unless it is 16 hexadecimal digits in lower case, not all of them zero.
    ///
    /// - Parameter text: The digits.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, let value = UInt64(hex: bytes[...]) else { return nil }
        self.init(bytes: value)
    }

    /// The 16 digits.
    public var description: String {
        bytes.hexadecimal
    }

    /// Creates a random id.
    static func random(_ source: SecureRandomSource) -> Self {
        Self(bytes: UInt64(bytes: source.bytes(8)[...])) ?? Self(bytes: 1)!
    }
}

extension UInt8 {
    fileprivate static let dash = UInt8(ascii: "-")
}

extension UInt64 {
    /// Reads hexadecimal digits in lower case, the only form that the specification allows.
    fileprivate init?(hex digits: some Collection<UInt8>) {
        guard let value = Hexadecimal.number(digits, lowercaseOnly: true) else { return nil }
        self = value
    }

    /// Reads bytes, the most significant first.
    fileprivate init(bytes: some Collection<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
