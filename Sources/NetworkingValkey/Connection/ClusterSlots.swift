#if Valkey
/// The nodes of a cluster that its servers have named, and the slots that are known to be theirs.
struct ClusterSlots {
    /// The number of slots of a cluster.
    static let count: UInt16 = 16_384
    /// The maximum number of nodes, so that a server cannot make the client open any number of connections.
    static let maximumNodes = 128

    private var nodes: [ValkeyAddress: ValkeyNode] = [:]
    private var owners: [UInt16: ValkeyNode] = [:]

    var all: [ValkeyNode] {
        Array(nodes.values)
    }

    /// Whether no server has named another one, as outside of a cluster.
    var isEmpty: Bool {
        nodes.isEmpty
    }

    /// Returns the node of a slot; `nil` if no server has named one.
    func owner(of slot: UInt16) -> ValkeyNode? {
        owners[slot]
    }

    mutating func setOwner(_ node: ValkeyNode, of slot: UInt16) {
        owners[slot] = node
    }

    /// Returns the node at an address, which is made if there is none; `nil` if there are too many.
    mutating func node(at address: ValkeyAddress, _ make: () -> ValkeyNode) -> ValkeyNode? {
        if let node = nodes[address] { return node }
        if nodes.count >= Self.maximumNodes {
            let owning = Set(owners.values.map(\.address))
            nodes = nodes.filter { owning.contains($0.key) }
        }
        guard nodes.count < Self.maximumNodes else { return nil }
        let node = make()
        nodes[address] = node
        return node
    }

    /// Forgets the slots of a node that is gone; the others know their new owner.
    ///
    /// The node itself stays, because it knows when it may be tried again.
    mutating func forgetSlots(of node: ValkeyNode) {
        owners = owners.filter { $0.value !== node }
    }

    /// Returns the slot of a key: that of its hash tag, if it has one.
    static func slot(of key: String) -> UInt16 {
        let bytes = Array(key.utf8)
        var tag = bytes[...]
        if let start = bytes.firstIndex(of: UInt8(ascii: "{")),
            let end = bytes[(start + 1)...].firstIndex(of: UInt8(ascii: "}")), end > start + 1
        {
            tag = bytes[(start + 1)..<end]
        }
        // CRC-16/XMODEM.
        var sum: UInt16 = 0
        for byte in tag {
            sum ^= UInt16(byte) << 8
            for _ in 0..<8 { sum = sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
        return sum % count
    }
}

/// The answer of a node of a cluster that another one has to be asked.
struct Redirection: Equatable {
    let slot: UInt16
    let address: ValkeyAddress
    /// Whether only this command goes to the other node, because the slot is on its way there.
    let isOnce: Bool

    /// Reads the server's error: `MOVED 3999 127.0.0.1:6381`.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - origin: The address of the server, whose host replaces an empty one.
    init?(_ error: ValkeyError, from origin: ValkeyAddress) {
        guard error.kind == .reply, error.code == "MOVED" || error.code == "ASK" else { return nil }
        let words = (error.message ?? "").split(separator: " ")
        guard words.count == 3, let slot = UInt16(words[1]), slot < ClusterSlots.count,
            let colon = words[2].lastIndex(of: ":"), let port = UInt16(words[2][words[2].index(after: colon)...]),
            port > 0
        else { return nil }
        var host = String(words[2][..<colon])
        if host.isEmpty {
            guard case .host(let name, _) = origin.place else { return nil }
            host = name
        }
        self.slot = slot
        address = .host(host, port: Int(port))
        isOnce = error.code == "ASK"
    }
}
#endif
