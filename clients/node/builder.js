// Builds what the client takes from the JSON of the API, and keeps count of the fields that were used.
//
// The client takes plain objects, with its own names, `Date` and moment's durations in them. Which member is which it says
// itself, in the mappers from which it writes its requests.
'use strict';

const moment = require('moment');
const { instant } = require('./cases');

class Builder {
  constructor(client) {
    this.client = client;
    this.models = client.models;
    this.used = new Set();
  }

  mapper(name) {
    return new this.models[name]().mapper();
  }

  /** The model of that name; a member of the value that the model lacks is an error. */
  build(name, value) {
    const rest = { ...value };
    const built = {};
    for (const [field, how] of Object.entries(this.properties(name, value))) {
      const key = [how.serializedName, how.serializedName.toLowerCase()].find((one) => one in rest);
      if (key === undefined) continue;
      built[field] = this.value(how.type, rest[key]);
      delete rest[key];
    }
    if (Object.keys(rest).length) throw new Error(`${name} has no ${Object.keys(rest).join(', ')}`);
    this.count(name, built);
    return built;
  }

  value(type, value) {
    switch (type.name) {
      case 'Composite':
        return this.build(type.className, value);
      case 'Sequence':
        return value.map((one) => this.value(type.element.type, one));
      case 'DateTime':
        return instant(value);
      case 'TimeSpan':
        return moment.duration(value);
      default:
        return value;
    }
  }

  /** The name of the model that a value has: that of its subtype, if there are any. */
  kind(name, value) {
    const { polymorphicDiscriminator: member } = this.mapper(name).type;
    const subtype = member && this.models.discriminators[`${name}.${value[member.clientName]}`];
    return subtype ? new subtype().mapper().type.className : name;
  }

  properties(name, value) {
    return this.mapper(this.kind(name, value)).type.modelProperties;
  }

  /** The JSON that the client makes of a model. Its serializer leaves members that are undefined to `JSON`. */
  json(name, model) {
    return JSON.parse(JSON.stringify(this.client.serialize(this.mapper(name), model, name)));
  }

  /** Counts the fields of a model that was written or read, and of all models in it. */
  count(name, model) {
    for (const [field, how] of Object.entries(this.properties(name, model))) {
      if (model[field] === undefined || model[field] === null) continue;
      this.used.add(`${this.kind(name, model)}.${field}`);
      if (how.type.name === 'Composite') this.count(how.type.className, model[field]);
      if (how.type.name === 'Sequence' && how.type.element.type.name === 'Composite') {
        model[field].forEach((one) => this.count(how.type.element.type.className, one));
      }
    }
  }

  /** The fields of all models that nobody wrote or read. */
  unused() {
    // What is no model of this client, but of all.
    const { discriminators, BaseResource, CloudError, ...own } = this.models;
    const fields = (name) => Object.keys(this.mapper(name).type.modelProperties).map((field) => `${name}.${field}`);
    return Object.keys(own).flatMap(fields).filter((field) => !this.used.has(field));
  }
}

module.exports = { Builder };
