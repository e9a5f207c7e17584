// Spellings of the everyday calls, which are compiled and not run. None may be ambiguous or need a type annotation that
// is not in this file.

import Foundation
import HTTPTypes
import Networking

struct User: Codable, Sendable {
    var id: Int
    var name: String
}

struct Problem: Error, Codable {
    var message: String
}

extension Request where Response == User {
    static func user(id: Int) -> Self { .get("users/\(id)") }
    static func create(_ user: User) -> Self { .post("users", body: .json(user)) }
}

enum Order: String, QueryValue {
    case newest, oldest
}

func requests(text: String, id: Int, cursor: String?, tags: [String], date: Date, url: URL, user: User) throws {
    _ = HTTPRequestData()
    _ = HTTPRequestData(path: "users")
    _ = HTTPRequestData(path: "users/\(id)/\(text)")
    _ = HTTPRequestData(path: text)
    _ = HTTPRequestData(path: text + "/" + text)
    _ = HTTPRequestData(path: cursor)
    _ = HTTPRequestData(path: nil)
    _ = HTTPRequestData(path: cursor ?? "users")
    _ = HTTPRequestData(method: .post, authority: "a.example", path: "users", body: .json(user))
    _ = HTTPRequestData(method: .put, url: url, headerFields: [.accept: "text/html"])
    _ = HTTPRequestData(url: url)
    _ = HTTPRequestData(.get, "users")
    _ = HTTPRequestData(
        .post,
        "users/\(id)",
        query: ["page": 1, "tag": ["a", "b"], "q": text],
        headers: [.accept: "application/json", "X-Id": text],
        body: .json(user)
    )
    _ = HTTPRequestData.get("users", query: ["since": date, "cursor": cursor, "order": Order.newest, "all": true])
    _ = HTTPRequestData.get("users", query: ["tag": tags, "id": id, "half": 0.5, "url": url, "none": nil])
    _ = HTTPRequestData.get("users", query: RequestQuery(["tag": tags], format: QueryFormat(arrays: .brackets)))
    _ = HTTPRequestData.get("users", query: [:], headers: [:])
    _ = HTTPRequestData.get("users", headers: [.authorization(bearer: text), .acceptLanguage(["de", "en"])])
    _ = HTTPRequestData.get("users", headers: HeaderFields(["X-Id": text]))
    _ = HTTPRequestData.get(RequestPath(text))
    _ = HTTPRequestData.get("\(raw: text)/\(id)")
    _ = HTTPRequestData.post("users", body: .json(["name": text]))
    _ = HTTPRequestData.post("users", body: .json(user, encoder: .json(keys: .convertToSnakeCase)))
    _ = HTTPRequestData.post("login", body: .form(["user": text, "password": text]))
    _ = HTTPRequestData.delete("users/\(id)").with(\.timeout, .seconds(5)).with(\.cacheMode, .reload)
    _ = Request<User>.get("users/\(id)")
    _ = Request<[User]>.get("users", query: ["page": id])
    _ = Request<User?>.get("draft").with(\.timeout, .seconds(5))
    _ = Request<Void>.delete("users/\(id)")
    _ = Request<String>.get("robots.txt")
    _ = Request<User>(HTTPRequestData.get("users/\(id)"))
    _ = Request<User>(http: .get("users/\(id)"))
    _ = Request<User>(.get("users/\(id)"), decoder: .json(keys: .convertFromSnakeCase))
    _ = Request(.get("users/\(id)"), as: User.self) { $0.name }
    _ = Request<String>(.get("users/\(id)")) { $0.text ?? "" }

    var request = HTTPRequestData.get("users")
    request.query["page"] = "2"
    request.query.greeting = text
    request.query.append(["page": 3])
    request.headerFields[.accept] = "text/html"
    request.headerFields["X-Id"] = text
    request.headerFields.set(.contentType(.json))
    request.headerFields.append(.userAgent("App/1.0"))
}

func stacks(text: String, url: URL) -> some NetworkingComponent {
    URLSession.shared
        .timeout(.seconds(10))
        .retry()
        .checkedStatusCode()
        .checkedStatusCode(as: Problem.self)
        .checkedStatusCode(as: Problem.self) { problem, _ in problem }
        .checkedStatusCode { $0.status == .notFound ? Problem(message: "missing") : nil }
        .decoder(.json(keys: .convertFromSnakeCase, dates: .iso8601WithFractions))
        .encoder(.json(keys: .convertToSnakeCase, dates: .iso8601))
        .decoder(PropertyListDecoder())
        .server(headerFields: [.accept: "application/json", "X-Client": text])
        .server(headerField: .accept, "application/json")
        .server(baseURL: url)
}

func calls(_ network: some NetworkingComponent, id: Int, user: User, file: URL) async throws {
    _ = try await network.data(.get("users"))
    _ = try await network.data(HTTPRequestData(path: "users"))
    _ = try await network.data(.get("users")) { progress in _ = progress.received.fractionCompleted }
    try await network.data(.get("users"))
    try await network.perform(.delete("users/\(id)"))
    try await network.perform(.post("users", body: .json(user)))
    _ = try await network.value(.user(id: id))
    let (first, response) = try await network.value(.user(id: id))
    _ = (first.name, response.status.isSuccess, response.text, response.prettyPrinted)
    let second = try await network.request(.user(id: id))
    _ = second.name
    let third: User = try await network.request(.get("users/\(id)"))
    _ = third.name
    let fourth = try await network.request(.get("users/\(id)"), as: User.self)
    _ = fourth.name
    let (fifth, _) = try await network.value(.get("users/\(id)"), as: User.self)
    _ = fifth.name
    _ = try await network.request(.create(user)).id
    _ = try await network.request(Request<[User]>.get("users")).count
    try await network.request(Request<Void>.delete("users/\(id)"))
    _ = try await network.request(.get("logo.png"), as: Data.self)
    _ = try await network.data(.get("users/\(id)")).checkedStatus().json(as: User.self)
    let sixth: User = try await network.data(.get("users/\(id)")).json()
    _ = sixth.name
    _ = try await network.request(.get("users"), as: [User].self, decoder: JSONDecoder())
    if case .failure(let error) = await network.result(of: .user(id: id)) { _ = error.localizedDescription }
    if case .success(let response) = await network.result(of: HTTPRequestData.get("users")) { _ = response.status }
    _ = try await network.upload(.file(file), to: .post("photos"))
    _ = try await network.upload(.file(file), to: .post("photos")) { _ = $0.sent.fractionCompleted }
    _ = try await network.upload(.file(file), to: .post("photos"), as: User.self)
    _ = try await network.download(.get("film.mp4"), to: file)
    for try await line in try await network.lines(.get("log")) { _ = line }
}
