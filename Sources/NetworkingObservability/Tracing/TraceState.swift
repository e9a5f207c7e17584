import NetworkingCore

/// What the systems that record a trace tell each other about it: the value of `tracestate` fields (W3C Trace Context,
/// Level 2).
///
/// The latest comes first. Nobody changes the entries of others, so that all of it is passed on as it came.
///
/// ```swift
/// var state = TraceState("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7") ?? TraceState()
/// state["rojo"] = "b7ad6b7169203331"   // rojo=b7ad6b7169203331,congo=t61rcWkgMzE
/// ```
public struct TraceState: Sendable, Hashable {
    /// What one system says.
    public struct Member: Sendable, Hashable, CustomStringConvertible {
        /// Whose it is.
        public let key: String
        /// What it says.
        public let value: String

        /// Creates a member; nil when the key or the value is not valid.
        ///
        /// - Parameters:
        ///   - key: Whose it is.
        ///   - value: What it says: up to 256 printable characters of ASCII, no comma, no equals sign, and no space at
        ///     the end.
        public init?(key: String, value: String) {
            guard Self.isKey(key.utf8), Self.isValue(value.utf8) else { return nil }
            (self.key, self.value) = (key, value)
        }

        /// `key=value`.
        public var description: String {
            "\(key)=\(value)"
        }
    }

    /// The most members that there may be.
    public static let maximumMembers = 32

    /// What each says, the latest first.
    public private(set) var members: [Member] = []

    /// Creates one in which nobody says anything.
    public init() {}

    /// Reads the values of all `tracestate` fields of a message, which are one list.
    ///
    /// It is nil when anything in it is not valid, or it has more than 32 members: then all of it has to be dropped. Of
    /// several members with one key the first is kept.
    ///
    /// - Parameter fields: The values, in their order.
    public init?(fields: [String]) {
        for field in fields {
            for piece in field.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let piece = piece.trimmed
                guard !piece.isEmpty else { continue }
                guard let member = Member(piece) else { return nil }
                members.append(member)
            }
        }
        guard members.count <= Self.maximumMembers else { return nil }
        var keys: Set<String> = []
        members.removeAll { !keys.insert($0.key).inserted }
    }

    /// What one system says.
    ///
    /// What is set comes to the front, and pushes the last one out when there are 32; nil removes it. A key or a value
    /// that is not valid changes nothing.
    ///
    /// - Parameter key: Whose it is: up to 256 of `a` to `z`, `0` to `9`, and, but not as the first, `_`, `-`, `*`,
    ///   `/`, `@`.
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

    /// The list for who has no room for all of it, as the specification wants it to be shortened: members of more than
    /// 128 characters go first, then those at the end.
    ///
    /// - Parameter length: The most characters that it may have. Whoever can should pass on 512.
    /// - Returns: The list, without what there is no room for.
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

    /// The value as a `tracestate` field has it.
    public var description: String {
        members.map(\.description).joined(separator: ",")
    }
}

extension TraceState.Member {
    fileprivate init?(_ piece: Substring.UTF8View) {
        guard let equals = piece.firstIndex(of: UInt8(ascii: "=")),
            let key = String(piece[..<equals]), let value = String(piece[piece.index(after: equals)...])
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
