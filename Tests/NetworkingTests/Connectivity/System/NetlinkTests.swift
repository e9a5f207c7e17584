import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingConnectivity

/// Kernel messages about interfaces and routes, and the resulting connectivity status.
@Suite(.tags(.memory), .timeLimit(.minutes(20)))
struct NetlinkTests {
    // MARK: Messages

    @Test func readsAnInterface() {
        let bytes = Bytes.message(
            16,
            Bytes.link(index: 4, type: 1, flags: 0x1_0043, name: "eth0"),
            sequence: 7,
            port: 99
        )
        let packet = NetlinkPacket(
            sequence: 7,
            port: 99,
            isInterrupted: false,
            message: .link(NetlinkLink(index: 4, type: 1, flags: 0x1_0043, name: "eth0"))
        )
        #expect(NetlinkPacket.parse(bytes[...]) == [packet])
    }

    @Test func readsARouteWithSeveralNextHops() {
        let hops = Bytes.hop(3) + Bytes.hop(4, flags: 1) + Bytes.hop(5)
        let content = Bytes.route(attributes: Bytes.attribute(9, hops) + Bytes.attribute(6, Bytes.number(UInt32(600))))
        let messages = NetlinkPacket.parse(Bytes.message(24, content)[...]).map(\.message)
        // The second hop is marked as dead.
        #expect(messages == [.route(Self.route(to: [3, 5], metric: 600))])
    }

    @Test func readsSeveralMessagesOfADatagram() {
        let bytes =
            Bytes.message(16, Bytes.link(index: 1, type: 772, flags: 0x49, name: "lo"), flags: 0x12)
            + Bytes.message(17, Bytes.link(index: 2, type: 1, flags: 0, name: "x"))
            + Bytes.message(3, Bytes.number(Int32(0))) + Bytes.message(99, [1, 2, 3])
            + Bytes.message(2, Bytes.number(Int32(-16))) + Bytes.message(2, Bytes.number(Int32(0)))
            + Bytes.message(4, [])
        let packets = NetlinkPacket.parse(bytes[...])
        #expect(packets.map(\.isInterrupted) == [true, false, false, false, false, false, false])
        #expect(
            packets.dropFirst().map(\.message) == [
                .linkRemoved(index: 2), .done, .other, .failure(16), .other, .overrun,
            ]
        )
    }

    @Test func requestsHaveTheFormatOfTheKernel() {
        let links = NetlinkPacket.request(.links, sequence: 5)
        let routes = NetlinkPacket.request(.routes, sequence: 6)
        #expect((links.count, routes.count) == (32, 28))
        #expect(NetlinkPacket.parse(links[...]).map(\.sequence) == [5])
        #expect(NetlinkPacket.parse(routes[...]).map(\.sequence) == [6])
    }

    @Test func everyPrefixOfADatagramIsReadWithinItsBounds() {
        let bytes =
            Bytes.message(16, Bytes.link(index: 4, type: 1, flags: 0x43, name: "eth0"))
            + Bytes.message(24, Bytes.route(attributes: Bytes.attribute(9, Bytes.hop(3) + Bytes.hop(5))))
        let whole = NetlinkPacket.parse(bytes[...])
        for count in 0..<bytes.count {
            // The slice ends at the end of its array, so an out-of-bounds read would trap.
            let packets = NetlinkPacket.parse(Array(bytes[..<count])[...])
            #expect(packets == Array(whole.prefix(packets.count)))
        }
    }

    @Test func randomBytesAreIgnored() {
        withSeed { random in
            for _ in 0..<20_000 {
                var bytes = Bytes.message(
                    UInt16.random(in: 0...30, using: &random),
                    random.bytes(maximumCount: 80),
                    sequence: 1
                )
                for _ in 0..<Int.random(in: 0...4, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                var table = NetlinkTable()
                for packet in NetlinkPacket.parse(bytes[...]) {
                    table.add(packet.message)
                    _ = NetlinkTable.isOfInterest(packet.message)
                }
                _ = table.status { _ in nil }
            }
        }
    }

    @Test(arguments: [0, 1, 3, 15, 17, UInt32.max])
    func lengthsThatDoNotFitEndTheReading(length: UInt32) {
        var bytes = Bytes.message(3, [])
        bytes.replaceSubrange(0..<4, with: Bytes.number(length))
        #expect(NetlinkPacket.parse(bytes[...]).isEmpty)
    }

    // MARK: Status

    private static func route(to interfaces: [Int32], metric: UInt32 = 0, version: Int? = 4) -> NetlinkRoute {
        NetlinkRoute(
            version: version,
            prefixLength: 0,
            isUnicast: true,
            isDead: false,
            metric: metric,
            interfaces: interfaces
        )
    }

    private static let up: UInt32 = 0x1_0043
    private static let ethernet = NetlinkLink(index: 2, type: 1, flags: up, name: "eth0")
    private static let wifi = NetlinkLink(index: 3, type: 1, flags: up, name: "wlan0")
    private static let modem = NetlinkLink(index: 4, type: 519, flags: up, name: "wwan0")
    private static let tunnel = NetlinkLink(index: 5, type: 65_534, flags: up, name: "wg0")

    private func status(_ messages: [NetlinkMessage]) -> ConnectivityStatus {
        var table = NetlinkTable()
        for message in messages {
            table.add(message)
        }
        return table.status { $0 == "wlan0" ? "wlan" : nil }
    }

    @Test func interfaceWithADefaultRouteIsANetwork() {
        let ethernet = NetlinkMessage.link(Self.ethernet)
        #expect(status([ethernet]) == .offline)
        #expect(status([ethernet, .route(Self.route(to: [2]))]).interfaces == [.wired])
        #expect(status([.route(Self.route(to: [2], version: 6)), ethernet]).isSatisfied)
        #expect(status([.link(Self.tunnel), .route(Self.route(to: [5]))]).interfaces == [.other])
    }

    @Test func otherRoutesAndInterfacesAreNoNetwork() {
        var local = Self.route(to: [2])
        local.prefixLength = 24
        var unreachable = Self.route(to: [2])
        unreachable.isUnicast = false
        var dead = Self.route(to: [2])
        dead.isDead = true
        for route in [local, unreachable, dead, Self.route(to: [2], version: nil), Self.route(to: [9])] {
            #expect(status([.link(Self.ethernet), .route(route)]) == .offline)
        }
        for flags in [0x49, 0x1, 0x40, 0] as [UInt32] {
            let link = NetlinkLink(index: 2, type: 1, flags: flags, name: "eth0")
            #expect(status([.link(link), .route(Self.route(to: [2]))]) == .offline)
        }
    }

    @Test func routeWithTheLowestMetricIsFirst() {
        let messages: [NetlinkMessage] = [
            .link(Self.modem), .link(Self.wifi), .route(Self.route(to: [4], metric: 700)),
            .route(Self.route(to: [3], metric: 600)),
        ]
        #expect(status(messages) == ConnectivityStatus(isSatisfied: true, interfaces: [.wifi, .cellular]))
        #expect(status([.link(Self.modem), .route(Self.route(to: [4]))]) == .cellular)
    }

    @Test func onlyDefaultRoutesAndInterfacesAreRelevant() {
        var local = Self.route(to: [2])
        local.prefixLength = 24
        #expect(!NetlinkTable.isOfInterest(.route(local)))
        #expect(NetlinkTable.isOfInterest(.routeRemoved(Self.route(to: [2]))))
        #expect(NetlinkTable.isOfInterest(.link(Self.ethernet)))
        #expect(!NetlinkTable.isOfInterest(.other))
    }

    @Test func tableIsBounded() {
        var table = NetlinkTable()
        for index in 0..<40_000 {
            table.add(.link(NetlinkLink(index: Int32(index), type: 1, flags: Self.up)))
            table.add(.route(Self.route(to: [Int32(index)])))
        }
        #expect(
            Mirror(reflecting: table).children.map { Mirror(reflecting: $0.value).children.count } == [16_384, 1_024]
        )
    }
}

/// Messages in the format of the kernel.
private enum Bytes {
    static func number(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    static func message(
        _ type: UInt16,
        _ content: [UInt8],
        flags: UInt16 = 2,
        sequence: UInt32 = 1,
        port: UInt32 = 1
    ) -> [UInt8] {
        padded(
            number(UInt32(16 + content.count)) + number(type) + number(flags) + number(sequence) + number(port)
                + content
        )
    }

    static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
        padded(number(UInt16(4 + value.count)) + number(kind) + value)
    }

    static func link(index: Int32, type: UInt16, flags: UInt32, name: String) -> [UInt8] {
        [0, 0] + number(type) + number(index) + number(flags) + number(UInt32(0)) + attribute(3, Array(name.utf8) + [0])
    }

    static func route(attributes: [UInt8]) -> [UInt8] {
        [2, 0, 0, 0, 254, 16, 0, 1] + number(UInt32(0)) + attributes
    }

    static func hop(_ interface: Int32, flags: UInt8 = 0) -> [UInt8] {
        number(UInt16(8)) + [flags, 0] + number(interface)
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }
}
