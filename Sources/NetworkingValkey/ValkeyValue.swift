#if Valkey
/// The result of a command.
///
/// It has the types of RESP3, so that the versions of the protocol differ little: a text is ``bytes(_:)``, whichever
/// type it had, a set is an ``array(_:)``, and a map is one with each key before its value. Over RESP2 a Boolean is an
/// integer or `null`, and a number with a fraction is bytes.
public enum ValkeyValue: Sendable, Hashable {
    /// No value, or a false condition.
    case null
    /// An integer.
    case integer(Int64)
    /// Bytes or a text.
    case bytes([UInt8])
    /// A Boolean.
    case boolean(Bool)
    /// A number with a fraction.
    case double(Double)
    /// The elements of an array or set, or the keys and values of a map in turn.
    case array([ValkeyValue])
    /// An error within an array: its code and the server's text.
    case error(String)
}

extension ValkeyValue {
    /// The integer, also if the server sent its digits.
    public var integer: Int64? {
        switch self {
        case .integer(let integer): integer
        case .bytes(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
        case .null, .boolean, .double, .array, .error: nil
        }
    }

    /// The bytes.
    public var bytes: [UInt8]? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    /// The elements of an array.
    public var array: [ValkeyValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}

extension ValkeyValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    /// Creates an integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// Creates bytes from a text.
    public init(stringLiteral value: String) {
        self = .bytes(Array(value.utf8))
    }

    /// Creates an array.
    public init(arrayLiteral elements: ValkeyValue...) {
        self = .array(elements)
    }
}
#endif
