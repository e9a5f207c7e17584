#if TestServer && URLSession
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif

extension Loopback {
    /// The tasks in which the transports of the package make exchanges with time limits.
    @Suite(.timeLimit(.minutes(20)))
    struct LimitTaskTests {
        /// Notes for each start and head of an exchange whether they happen in the task of the caller.
        private struct TaskObserver: NetworkEventObserver {
            let caller: Int?
            let journal: Journal

            func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
                switch event as? ExchangeEvent {
                case .started: journal.note("started in the caller's task: \(LimitTaskTests.taskID == caller)")
                case .responseReceived: journal.note("ended in the caller's task: \(LimitTaskTests.taskID == caller)")
                default: break
                }
            }
        }

        private static var taskID: Int? {
            withUnsafeCurrentTask { $0?.hashValue }
        }

        private static let transports: [AnyNetworkingComponent] = {
            var transports = [AnyNetworkingComponent(URLSessionTransport(configuration: .ephemeral))]
            #if AsyncHTTPClient
            transports.append(AnyNetworkingComponent(AsyncHTTPClientTransport()))
            #endif
            return transports
        }()

        @Test(arguments: transports.indices, [0, 100, 100_000])
        func limitsOfPhasesNeedNoTaskAroundTheExchange(index: Int, bytes: Int) async throws {
            let transport = Self.transports[index]
            try await withTestServer { server in
                server.route("/") { _ in .text("hello") }
                let request = HTTPRequestData(method: .put, url: server.url, body: .data(Data(count: bytes)))
                for network in [
                    AnyNetworkingComponent(transport.timeout(.seconds(60))),
                    AnyNetworkingComponent(transport.timeout(connect: .seconds(60))),
                    AnyNetworkingComponent(transport.timeout(head: .seconds(60), idle: .seconds(60))),
                    AnyNetworkingComponent(transport.timeout(.seconds(60)).timeout(head: .seconds(50))),
                    AnyNetworkingComponent(transport.deadline(.seconds(60))),
                ] {
                    let observer = TaskObserver(caller: Self.taskID, journal: Journal())
                    try await network.observed(by: observer).data(request)
                    #expect(
                        observer.journal.entries == [
                            "started in the caller's task: true", "ended in the caller's task: true",
                        ]
                    )
                }
            }
        }
    }
}
#endif
