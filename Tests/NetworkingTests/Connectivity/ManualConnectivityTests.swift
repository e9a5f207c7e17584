import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ManualConnectivityTests {
    @Test func readersGetTheCurrentStatusAndEachChange() async {
        let connectivity = ManualConnectivity(.cellular)
        var changes = connectivity.changes.makeAsyncIterator()
        #expect(await changes.next() == .cellular)
        connectivity.update(.offline)
        #expect(await changes.next() == .offline)
        #expect(connectivity.status == .offline)
    }

    @Test func sameStatusIsNoChange() async {
        let connectivity = ManualConnectivity()
        var changes = connectivity.changes.makeAsyncIterator()
        #expect(await changes.next() == .wifi)
        connectivity.update(.wifi)
        connectivity.update(.cellular)
        #expect(await changes.next() == .cellular)
    }

    @Test func slowReaderSkipsToTheNewestStatus() async {
        let connectivity = ManualConnectivity(.offline)
        var changes = connectivity.changes.makeAsyncIterator()
        connectivity.update(.wifi)
        connectivity.update(.cellular)
        #expect(await changes.next() == .cellular)
    }

    @Test func releasedReadersAreRemoved() async throws {
        let connectivity = ManualConnectivity()
        #expect(connectivity.readers == 0)
        do {
            let changes = connectivity.changes
            #expect(connectivity.readers == 1)
            withExtendedLifetime(changes) {}
        }
        #expect(connectivity.readers == 0)
    }

    @Test func statusIsUnknownUntilItIsSet() {
        let connectivity = ManualConnectivity(nil)
        #expect(connectivity.status == nil)
        connectivity.update(.offline)
        #expect(connectivity.status == .offline)
    }

    @Test func statusesDescribeThemselves() {
        #expect("\(ConnectivityStatus.offline)" == "offline")
        #expect("\(ConnectivityStatus.cellular)" == "online over cellular, expensive")
        let home = ConnectivityStatus(isSatisfied: true, interfaces: [.wired, .other], isConstrained: true)
        #expect("\(home)" == "online over wired and other, constrained")
        #expect("\(ConnectivityStatus(isSatisfied: true))" == "online")
        let hotspot = ConnectivityStatus(isSatisfied: true, interfaces: [.wifi], isExpensive: true)
        #expect(hotspot.isExpensive && !hotspot.isConstrained)
        #expect(Set(ConnectivityStatus.Interface.allCases).count == 5)
        #expect(home.interfaces != [.loopback, .wifi])
    }
}
