// error: Declare 'var query: RequestQuery'
import Foundation
import HTTPTypes
import Networking

struct SignIn: Endpoint {
    typealias Response = Void
    let name: String

    var path: RequestPath { "login" }
    var query: [URLQueryItem] { [URLQueryItem(name: "user", value: name)] }
}
