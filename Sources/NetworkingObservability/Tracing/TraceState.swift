import NetworkingCore

/// The data that tracing systems attach to a trace: the value of `tracestate` fields (W3C Trace Context, Level 2).
///
/// The latest member comes first. Each system changes only its own member, so all others are propagated unchanged.
///
/// ```swift
/// var state = TraceState("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7") ?? TraceState()
/// state["rojo"] = "b7ad6b7169203331"   // rojo=b7ad6b7169203331,congo=t61rcWkgMzE
/// ```
public struct TraceState: Sendable, Hashable {
    /// The data of one tracing system.
    public struct Member: Sendable, Hashable, CustomStringConvertible {
        /// The key of the system.
        public let key: String
        /// The data of the system.
        public let value: String

        /// Creates a member; `nil` if the key or the value is invalid.
        ///
        /// - Parameters:
        ///   - key: The key of the system.
        ///   - value: The data: up to 256 printable characters of ASCII, no comma, no equals sign, and no space at the
        ///     end.
        public init?(key: String, value: String) {
            guard Self.isKey(key.utf8), Self.isValue(value.utf8) else { return nil }
            (self.key, self.value) = (key, value)
        }

        /// The member as text: `key=value`.
        public var description: String {
            "\(key)=\(value)"
        }
    }

    /// The maximum number of members.
    public static let maximumMembers = 32

    /// The members, the latest first.
    public private(set) var members: [Member] = []

    /// Creates a state without members.
    public init() {}

    /// Reads the values of all `tracestate` fields of a message, which form one list.
    ///
    /// Returns `nil` if a member is invalid, or if there are more than 32: the specification then requires the whole
    /// list to be dropped. If several members have the same key, the first one is kept.
    ///
    /// - Parameter fields: The values, in their order.
    public init?(fields: [String]) {
        for field in fields {
            for element in field.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let element = element.trimmed
                guard !element.isEmpty else { continue }
                guard let member = Member(element) else { return nil }
                members.append(member)
            }
        }
        guard members.count <= Self.maximumMembers else { return nil }
        var keys: Set<String> = []
        members.removeAll { !keys.insert($0.key).inserted }
    }

    /// The data of one tracing system.
    ///
    /// Setting a value moves the member to the front, and removes the last member if there are more than 32. Setting
    /// `nil` removes the member. An invalid key or value changes nothing.
    ///
    /// - Parameter key: The key of the system: up to 256 characters. They are `a` to `z` and `0` to `9`, and after the
    ///   first character also `_`, `-`, `*`, `/` and `@`.
    public subscript(key: String) -> String? {
        get { members.first { $0.key == key }?.value }
        set {
            guard let newValue else {
                members.removeAll { $0.key == key }
                return
            }
            guard let member = Member(key: key, value: newValue) else { return }
            members.removeAll { $0.key == key }
            members.insert(member, at: 0)
            if members.count > Self.maximumMembers {
                members.removeLast()
            }
        }
    }

    /// Returns a shorter list, reduced as the specification requires: members of more than 128 characters are removed
    /// first, then those at the end.
    ///
    /// - Parameter length: The maximum number of characters. Propagate at least 512 if possible.
    /// - Returns: The list, without the members that do not fit.
    public func shortened(to length: Int = 512) -> TraceState {
        var shortened = self
        while shortened.length > length, let index = shortened.members.lastIndex(where: { $0.length > 128 }) {
            shortened.members.remove(at: index)
        }
        while shortened.length > length {
            shortened.members.removeLast()
        }
        return shortened
    }

    private var length: Int {
        members.reduce(max(0, members.count - 1)) { $0 + $1.length }
    }
}

extension TraceState: LosslessStringConvertible {
    /// Reads the value of a `tracestate` field, as ``init(fields:)`` does.
    ///
    /// - Parameter text: The value.
    public init?(_ text: String) {
        self.init(fields: [text])
    }

    /// The value in the format of a `tracestate` field.
    public var description: String {
        members.map(\.description).joined(separator: ",")
    }
}

extension TraceState.Member {
    fileprivate init?(_ element: Substring.UTF8View) {
        guard let equals = element.firstIndex(of: UInt8(ascii: "=")),
            let key = String(element[..<equals]), let value = String(element[element.index(after: equals)...])
        else { return nil }
        self.init(key: key, value: value)
    }

    fileprivate var length: Int {
        key.utf8.count + 1 + value.utf8.count
    }

    private static func isKey(_ text: String.UTF8View) -> Bool {
        guard (1...256).contains(text.count), let first = text.first, first.isLowerCaseOrDigit else { return false }
        return text.allSatisfy { $0.isLowerCaseOrDigit || "_-*/@".utf8.contains($0) }
    }

    private static func isValue(_ text: String.UTF8View) -> Bool {
        (1...256).contains(text.count) && text.last != UInt8(ascii: " ")
            && text.allSatisfy { 0x20...0x7e ~= $0 && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
    }
}

extension UInt8 {
    fileprivate var isLowerCaseOrDigit: Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= self || UInt8(ascii: "0")...UInt8(ascii: "9") ~= self
    }
}
