/// A message of the kernel about network interfaces and routes (rtnetlink).
///
/// Parsing reads no byte outside of the given ones, whatever lengths they state.
enum NetlinkMessage: Equatable {
    /// An interface exists, or has changed.
    case link(NetlinkLink)
    /// An interface was removed.
    case linkRemoved(index: Int32)
    /// A route exists, or has changed.
    case route(NetlinkRoute)
    /// A route was removed.
    case routeRemoved(NetlinkRoute)
    /// The requested list is complete.
    case done
    /// The kernel refused the list; the number is an `errno`.
    case failure(Int32)
    /// Messages were lost.
    case overrun
    /// A message that is not used.
    case other
}

/// A network interface.
struct NetlinkLink: Equatable {
    var index: Int32
    /// The type of the hardware (`ARPHRD_…`).
    var type: UInt16
    /// The flags (`IFF_…`).
    var flags: UInt32
    var name = ""

    static let (ethernet, pointToPoint, rawIP): (UInt16, UInt16, UInt16) = (1, 512, 519)

    /// Whether the interface can pass packets.
    var isRunning: Bool {
        flags & 0x1 != 0 && flags & 0x40 != 0
    }

    var isLoopback: Bool {
        flags & 0x8 != 0
    }
}

/// A route.
struct NetlinkRoute: Equatable {
    /// 4 or 6; `nil` for anything else.
    var version: Int?
    /// The length of the destination's prefix in bits; zero for a default route.
    var prefixLength: UInt8
    /// Whether packets on the route are sent, instead of dropped or refused.
    var isUnicast: Bool
    /// Whether the next hop is known to be down.
    var isDead: Bool
    var metric: UInt32 = 0
    /// The interfaces of the next hops.
    var interfaces: [Int32] = []

    var isDefault: Bool {
        prefixLength == 0 && version != nil
    }
}

/// The header and the content of one message among the bytes that the kernel has sent.
struct NetlinkPacket: Equatable {
    var sequence: UInt32
    var port: UInt32
    /// Whether the list changed while it was sent, so that it may be inconsistent.
    var isInterrupted: Bool
    var message: NetlinkMessage

    /// Returns the messages in a datagram, up to the first one that is malformed.
    static func parse(_ bytes: ArraySlice<UInt8>) -> [NetlinkPacket] {
        var packets: [NetlinkPacket] = []
        var rest = NetlinkReader(bytes)
        while let length = rest.number(UInt32.self, at: 0), length >= 16, let total = Int(exactly: length),
            total <= rest.count, let type = rest.number(UInt16.self, at: 4),
            let flags = rest.number(UInt16.self, at: 6),
            let sequence = rest.number(UInt32.self, at: 8), let port = rest.number(UInt32.self, at: 12)
        {
            let content = rest.part(16..<total)
            packets.append(
                NetlinkPacket(
                    sequence: sequence,
                    port: port,
                    isInterrupted: flags & 0x10 != 0,
                    message: message(type, content)
                )
            )
            // Each message starts at a multiple of four bytes.
            rest = rest.part(min(rest.count, (total + 3) & ~3)..<rest.count)
        }
        return packets
    }

    private static func message(_ type: UInt16, _ content: NetlinkReader) -> NetlinkMessage {
        switch type {
        case 2: failure(content)
        case 3: .done
        case 4: .overrun
        case 16: NetlinkLink(content).map { .link($0) } ?? .other
        case 17: NetlinkLink(content).map { .linkRemoved(index: $0.index) } ?? .other
        case 24: NetlinkRoute(content).map { .route($0) } ?? .other
        case 25: NetlinkRoute(content).map { .routeRemoved($0) } ?? .other
        default: .other
        }
    }

    /// Reads an error; the number zero acknowledges a request and is not an error.
    private static func failure(_ content: NetlinkReader) -> NetlinkMessage {
        guard let code = content.number(Int32.self, at: 0), code != 0 else { return .other }
        return .failure(code == .min ? .max : -code)
    }

    /// Returns a request for the list of all interfaces or all routes.
    static func request(_ list: NetlinkList, sequence: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        let size = list == .links ? 16 : 12
        withUnsafeBytes(of: UInt32(16 + size)) { bytes += $0 }
        withUnsafeBytes(of: list.rawValue) { bytes += $0 }
        // NLM_F_REQUEST | NLM_F_DUMP
        withUnsafeBytes(of: UInt16(0x301)) { bytes += $0 }
        withUnsafeBytes(of: sequence) { bytes += $0 }
        return bytes + [UInt8](repeating: 0, count: 4 + size)
    }
}

/// A list that the kernel sends on request.
enum NetlinkList: UInt16 {
    case links = 18
    case routes = 26
}

extension NetlinkLink {
    fileprivate init?(_ content: NetlinkReader) {
        guard let type = content.number(UInt16.self, at: 2), let index = content.number(Int32.self, at: 4),
            let flags = content.number(UInt32.self, at: 8), content.count >= 16
        else { return nil }
        self.init(index: index, type: type, flags: flags)
        for (kind, value) in content.attributes(from: 16) where kind == 3 {
            name = String(decoding: value.bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

extension NetlinkRoute {
    fileprivate init?(_ content: NetlinkReader) {
        guard content.count >= 12, let family = content.byte(at: 0), let prefixLength = content.byte(at: 1),
            let table = content.byte(at: 4), let type = content.byte(at: 7),
            let flags = content.number(UInt32.self, at: 8)
        else { return nil }
        let version: Int? =
            switch family {
            case 2: 4
            case 10: 6
            default: nil
            }
        // Table 255 contains the machine's own addresses, and a cloned route is a cache entry. Neither leads to a
        // network.
        self.init(
            version: table == 255 || flags & 0x200 != 0 ? nil : version,
            prefixLength: prefixLength,
            isUnicast: type == 1,
            isDead: flags & 0x1 != 0
        )
        for (kind, value) in content.attributes(from: 12) {
            switch kind {
            case 4: interfaces += value.number(Int32.self, at: 0).map { [$0] } ?? []
            case 6: metric = value.number(UInt32.self, at: 0) ?? metric
            case 9: interfaces += value.nextHops
            default: break
            }
        }
    }
}

/// Bytes that are read in the byte order of this machine, at positions that are checked.
struct NetlinkReader {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    var count: Int {
        bytes.count
    }

    func byte(at offset: Int) -> UInt8? {
        offset < bytes.count ? bytes[bytes.startIndex + offset] : nil
    }

    func number<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number? {
        guard offset + MemoryLayout<Number>.size <= bytes.count else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
    }

    /// Returns the bytes in a range, which must be within these bytes.
    func part(_ range: Range<Int>) -> NetlinkReader {
        NetlinkReader(bytes[bytes.startIndex + range.lowerBound..<bytes.startIndex + range.upperBound])
    }

    /// Returns the attributes from a position, up to the first one that is malformed.
    func attributes(from start: Int) -> [(kind: UInt16, value: NetlinkReader)] {
        var found: [(UInt16, NetlinkReader)] = []
        var offset = start
        while let length = number(UInt16.self, at: offset), let kind = number(UInt16.self, at: offset + 2), length >= 4,
            offset + Int(length) <= count
        {
            // The two highest bits are flags.
            found.append((kind & 0x3FFF, part(offset + 4..<offset + Int(length))))
            offset += (Int(length) + 3) & ~3
        }
        return found
    }

    /// The interfaces of the next hops, for a route with several of them.
    var nextHops: [Int32] {
        var interfaces: [Int32] = []
        var offset = 0
        while let length = number(UInt16.self, at: offset), let flags = byte(at: offset + 2),
            let interface = number(Int32.self, at: offset + 4), length >= 8, offset + Int(length) <= count
        {
            if flags & 0x1 == 0 {
                interfaces.append(interface)
            }
            offset += (Int(length) + 3) & ~3
        }
        return interfaces
    }
}
