import Networking

@main
struct Benchmarks {
    static func main() async throws {
        try await Task.detached { try await overhead() }.value
    }

    static func overhead() async throws {
        let request = HTTPRequestData(path: "/small")
        let absolute = InstantTransport().server(authority: "api.example.com").resolved(request)

        func ten(_ c: some NetworkingComponent) -> some NetworkingComponent {
            c.modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
                .modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
                .modified(PassThrough()).modified(PassThrough())
        }
        let one = InstantTransport().modified(PassThrough())
        let eleven = ten(one)
        let m1 = try await Measurement.measure("1 pass-through", runs: 100_000) { _ = try await one.send(absolute) }
        let m11 = try await Measurement.measure("11 pass-through", runs: 100_000) {
            _ = try await eleven.send(absolute)
        }
        print("1:", m1.median, "11:", m11.median, "each:", (m11.median - m1.median) / 10)
        let nine = InstantTransport().stackOfNine(authority: "api.example.com")
        let m9 = try await Measurement.measure("nine", runs: 20_000) { _ = try await nine.send(request) }
        print("nine:", m9.median)
        func show(_ name: String, _ c: some NetworkingComponent) async throws {
            let m = try await Measurement.measure(name, runs: 20_000) { _ = try await c.send(absolute) }
            print(name, m.median, "net", m.median - m1.median)
        }
        try await show("timeout", InstantTransport().timeout(.seconds(10)))
        try await show("timeout/suspending", SuspendingTransport().timeout(.seconds(10)))
        try await show("suspending alone", SuspendingTransport().checkedStatusCode())
        try await show("deadline", InstantTransport().deadline(.seconds(10)))
        try await show("environment", InstantTransport().environment(\.tenant, 1))
        try await show("checked", InstantTransport().checkedStatusCode())
        try await show("logged", InstantTransport().logged(using: .silent))
        try await show("numbered", InstantTransport().numbered())
        let relative = InstantTransport().server(headerField: .accept, "application/json").server(scheme: "https")
            .server(authority: "a.example.com")
        let m = try await Measurement.measure("server x3", runs: 20_000) { _ = try await relative.send(request) }
        print("server x3", m.median)
    }
}
