import Networking

@main
struct Benchmarks {
    static func main() async throws {
        try await Task.detached { try await overhead() }.value
    }

    @inline(never) static func loop(_ c: some NetworkingComponent, _ n: Int) async throws {
        let r = HTTPRequestData(path: "/small")
        for _ in 0..<n { _ = try await c.send(r) }
    }

    static func overhead() async throws {
        if CommandLine.arguments.count > 1 {
            try await loop(InstantTransport().stackOfNine(authority: "api.example.com"), Int(CommandLine.arguments[1])!)
            return
        }
        let request = HTTPRequestData(path: "/small")
        let absolute = InstantTransport().server(authority: "api.example.com").resolved(request)
        func show(_ name: String, _ c: any NetworkingComponent, _ r: HTTPRequestData) async throws {
            let m = try await Measurement.measure(name, runs: 20_000) { _ = try await c.send(r) }
            print(name, Int(m.minimum), Int(m.median))
        }
        try await show("bare transport", InstantTransport(), absolute)
        try await show("1 pass", InstantTransport().modified(PassThrough()), absolute)
        try await show(
            "3 pass",
            InstantTransport().modified(PassThrough()).modified(PassThrough()).modified(PassThrough()),
            absolute
        )
        try await show("timeout", InstantTransport().timeout(.seconds(10)), absolute)
        try await show("deadline", InstantTransport().deadline(.seconds(10)), absolute)
        try await show("environment", InstantTransport().environment(\.tenant, 1), absolute)
        try await show("checked", InstantTransport().checkedStatusCode(), absolute)
        try await show("logged", InstantTransport().logged(using: .silent), absolute)
        try await show("numbered", InstantTransport().numbered(), absolute)
        try await show("server authority", InstantTransport().server(authority: "a.example.com"), request)
        try await show(
            "server x2",
            InstantTransport().server(scheme: "https").server(authority: "a.example.com"),
            request
        )
        try await show(
            "server x3",
            InstantTransport().server(headerField: .accept, "application/json").server(scheme: "https")
                .server(authority: "a.example.com"),
            request
        )
        try await show("nine", InstantTransport().stackOfNine(authority: "api.example.com"), request)
    }
}
