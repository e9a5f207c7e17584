#if Valkey
import NetworkingCore
import NetworkingValkey
import TestSupport

extension ValkeyConfiguration {
    /// Settings with a time limit that a busy machine does not reach.
    static let patient = ValkeyConfiguration(timeout: .seconds(200), connectTimeout: .seconds(200), backoff: .immediate)

    /// Settings with another time limit.
    static func timeout(_ timeout: Duration) -> ValkeyConfiguration {
        var configuration = patient
        configuration.timeout = timeout
        return configuration
    }
}

extension ValkeyServer {
    var address: ValkeyAddress {
        .host("127.0.0.1", port: port)
    }
}

/// Runs the body with a client, which is shut down after it.
@discardableResult
func withClient<Result>(
    _ address: ValkeyAddress,
    others: [ValkeyAddress] = [],
    _ configuration: ValkeyConfiguration = .patient,
    _ body: (ValkeyClient) async throws -> Result
) async throws -> Result {
    let client = ValkeyClient(address, others: others, configuration: configuration)
    do {
        let result = try await body(client)
        await client.shutdown()
        return result
    } catch {
        await client.shutdown()
        throw error
    }
}

/// Returns the kind of the error of a command; `nil` if it succeeds.
func failure(of command: () async throws -> Void) async throws -> ValkeyError.Kind? {
    do {
        try await command()
        return nil
    } catch let error as ValkeyError {
        return error.kind
    }
}

func bytes(_ text: String) -> [UInt8] {
    Array(text.utf8)
}
#endif
