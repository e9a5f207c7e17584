#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import Networking

/// The parts of the stack of an app, each alone over AsyncHTTPClient, relative to the client alone.
enum Parts {
    static func measure() async throws -> [Row] {
        try await ChildProcess.withServer { server in
            let names = MeasuredClient(.asyncHTTPClient, server)
            var cases = names.transport.parts(server).indices
                .map { index in
                    measured("\(names.transport.parts(server)[index].name), 64 callers", callers: 64) { client in
                        client.transport.parts(server)[index].network
                    }
                }
            try await names.end()
            for callers in [1, 16, 64, 256] {
                cases.append(
                    measured("without deduplicated, \(callers) callers", callers: callers) { client in
                        client.transport.appStackWithoutSharing(server)
                    }
                )
            }
            let rounds = try await MeasuredCase.measure(cases) { MeasuredClient(.asyncHTTPClient, server) }
            return zip(cases, rounds)
                .map { measured, rounds in
                    let cpu = (0..<2).map { side in rounds.map { $0[side].cpu }.median / 1_000 }
                    return Row(
                        name: "AsyncHTTPClient: \(measured.name)",
                        value: rounds.map { $0[1].time / $0[0].time }.median,
                        unit: "x",
                        detail: String(format: "CPU %.1f us a call, client alone %.1f us", cpu[0], cpu[1])
                    )
                }
        }
    }

    private static func measured(
        _ name: String,
        callers: Int,
        over network: @escaping @Sendable (MeasuredClient) -> any NetworkingComponent
    ) -> MeasuredCase {
        MeasuredCase(name: name, load: Load(callers: callers, total: 1_536), rounds: 2) { client in
            let path = { @Sendable (number: Int) in "items/\(number)" }
            return [MeasuredClient.call(network(client), path), client.call(.client, path)]
        }
    }
}
#endif
